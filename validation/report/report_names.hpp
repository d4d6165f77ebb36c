// Words that the report's document uses for values of enumerations.
#pragma once

#include "validation/compare/compare.hpp"

namespace tandem::validation {

inline const char* unit_name(Unit unit) {
  switch (unit) {
    case Unit::seconds:
      return "s";
    case Unit::samples_per_second:
      return "samples/s";
    case Unit::bytes:
      return "bytes";
    case Unit::count:
      return "";
    case Unit::ratio:
      return "ratio";
  }
  return "";
}

inline const char* verdict_name(Equivalence verdict) {
  switch (verdict) {
    case Equivalence::equivalent:
      return "equivalent";
    case Equivalence::different:
      return "different";
    case Equivalence::inconclusive:
      return "inconclusive";
  }
  return "";
}

}  // namespace tandem::validation
