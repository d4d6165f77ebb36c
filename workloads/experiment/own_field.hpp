// Keys with values that are of more than one type, such as a word or a number.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "workloads/experiment/experiment.hpp"

namespace tandem {

/// The value of such a key. Valid as long as the experiment.
struct OwnField {
  const void* address;  ///< of what holds it
  std::string type;     ///< "idle | while-computing | integer >= 1 and <= 1024"
  std::function<nlohmann::json()> get;
  std::function<nlohmann::json()> written;  ///< with units, as people write it
  /// False, and the value is unspecified, if it does not accept the JSON value.
  std::function<bool(const nlohmann::json&)> set;
};

/// data.background: a word, or the number of loaders.
OwnField background_field(Experiment::Data& data);
/// data.cache_capacity: a size, or percent of the training samples.
OwnField capacity_field(Experiment::Data& data);

}  // namespace tandem
