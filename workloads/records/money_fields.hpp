// Amounts of money in documents: a number of dollars.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/money.hpp"
#include "workloads/experiment/field_kinds.hpp"

namespace tandem {

template <>
struct OwnDocument<Money> {
  static nlohmann::json write(Money money) { return money.dollars(); }
  static Money read(const nlohmann::json& document) {
    if (!document.is_number()) throw ConfigError("expected an amount in dollars, found " + document.dump());
    return Money(std::llround(document.get<double>() * 1e6));
  }
};

}  // namespace tandem
