// Only so that there is something to compile: see CMakeLists.txt.
