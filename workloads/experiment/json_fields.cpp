#include "workloads/experiment/json_fields.hpp"

#include "policies/vocabulary/check.hpp"
#include "workloads/experiment/json_file.hpp"

namespace tandem {
namespace {

std::string path_of(const JsonPlace& place) {
  if (place.above == nullptr) return "";
  return path_of(*place.above) + '/' +
         (place.name.empty() ? std::to_string(place.index) : std::string(place.name));
}

std::string file_of(const JsonPlace& place) {
  return place.above == nullptr ? std::string(place.name) : file_of(*place.above);
}

std::string prefix_of(const JsonPlace& place) {
  const std::string file = file_of(place), path = path_of(place);
  return (file.empty() ? "" : file + ": ") + (path.empty() ? "" : path + ": ");
}

}  // namespace

void fail_json(const JsonPlace& place, const std::string& expected, const nlohmann::json& found) {
  throw ConfigError(prefix_of(place) + "expected " + expected + ", found " + kind_of(found));
}

void fail_json_key(const JsonPlace& object, const char* key) {
  throw ConfigError(prefix_of(object) + "expected the key '" + key + "', found none");
}

}  // namespace tandem
