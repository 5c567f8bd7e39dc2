#include "../cmake/precompiled.h"
#include "catch.h"
