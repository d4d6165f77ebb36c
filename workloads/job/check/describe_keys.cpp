#include "workloads/job/check/describe_keys.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "policies/vocabulary/quantity_text.hpp"
#include "workloads/experiment/keys.hpp"
#include "workloads/experiment/overrides.hpp"
#include "workloads/job/check/catalogues.hpp"

namespace tandem {
namespace {

struct KeyLine {
  std::string path;
  std::string type;   ///< short: without the names of a catalogue
  std::string names;  ///< the type in full
  std::string by_default;
  std::string meaning;
};

/// The word after `tandem list`. Pre: a key has such names.
std::string kind_of(Names names) {
  switch (names) {
    case Names::model:
      return "model";
    case Names::dataset:
      return "dataset";
    case Names::sync:
      return "sync";
    case Names::collective:
      return "collective";
    case Names::compression:
      return "compression";
    case Names::sharding:
      return "sharding";
    case Names::cache:
      return "cache";
    case Names::split:
      return "split";
    case Names::sampling:
      return "sampling";
    case Names::lifetime:
      return "lifetime";
    case Names::checkpointing:
      return "checkpointing";
    case Names::recovery:
      return "recovery";
    case Names::provisioning:
      return "provisioning";
    case Names::none:
    case Names::trace_cache:
      break;
  }
  return "";
}

std::string names_text(Names names) {
  std::string text;
  for (const auto& name : catalogue_of(names).names()) text += (text.empty() ? "" : " | ") + name;
  return text;
}

std::string default_text(const ExperimentKey& key) {
  const nlohmann::json value = written_value(key, {});
  const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  return text.empty() || value.empty() ? "empty" : text;
}

KeyLine line_of(const ExperimentKey& key) {
  const Names names = key.accepts.names;
  const bool is_name = names != Names::none;
  const std::string type = describe_type(key);
  return {key.path, is_name ? "name (tandem list " + kind_of(names) + ")" : type,
          is_name ? names_text(names) : type, default_text(key), key.summary};
}

std::vector<KeyLine> all_lines() {
  std::vector<KeyLine> lines;
  for (const auto& key : experiment_keys()) lines.push_back(line_of(key));
  lines.push_back({"jobs", "map of jobs", "map of jobs", "none",
                   "several jobs on one platform, at the same time: name of each -> the keys that it "
                   "overrides, not name, platform, physics and run.devices; tandem simulate and run write "
                   "DIR/jobs/NAME; study and validate report each job"});
  const std::string time = "time >= 0 (" + time_examples() + ")";
  lines.push_back({"jobs.NAME.start", time, time, "0s", "when the job begins, on the common clock"});
  return lines;
}

/// The key itself, also of one of its options; else all keys that begin so.
std::vector<KeyLine> lines_with(const std::string& prefix, bool& is_whole_key) {
  std::vector<KeyLine> lines = all_lines();
  const ExperimentKey* const key = find_experiment_key(prefix);
  const std::string path = key == nullptr ? prefix : key->path;
  is_whole_key = std::ranges::find(lines, path, &KeyLine::path) != lines.end();
  std::erase_if(lines, [&](const KeyLine& line) {
    return is_whole_key ? line.path != path : !line.path.starts_with(prefix);
  });
  if (lines.empty()) fail_unknown({.place = "show --keys", .variant = {}, .path = prefix, .value = {}});
  return lines;
}

std::string padded(const std::string& text, std::size_t width) {
  return text + std::string(width - text.size() + 2, ' ');
}

}  // namespace

std::string describe_keys(const std::string& prefix, bool details) {
  bool is_whole_key = false;
  const std::vector<KeyLine> lines = lines_with(prefix, is_whole_key);
  const bool is_explained = details || is_whole_key;
  const auto longest = [&](const auto& part) {
    return std::ranges::max(lines, {}, [&](const KeyLine& line) { return (line.*part).size(); });
  };
  const std::string head = "key", values = "accepted values";
  const std::size_t path_width = std::max(longest(&KeyLine::path).path.size(), head.size());
  const std::size_t type_width = std::max(longest(&KeyLine::type).type.size(), values.size());
  std::string text = padded(head, path_width);
  text += is_explained ? values + "  [default]  meaning\n" : padded(values, type_width) + "[default]\n";
  for (const KeyLine& line : lines) {
    text +=
        padded(line.path, path_width) + (is_explained ? line.names + "  " : padded(line.type, type_width));
    text += '[' + line.by_default + ']' + (is_explained ? "  " + line.meaning : "") + '\n';
  }
  return text;
}

}  // namespace tandem
