#pragma once

#include <catch2/catch.hpp>  // the one place that knows Catch2's version
