#include "workloads/checkpoint/saved_state.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "workloads/files/whole_file.hpp"

namespace tandem {
namespace {

using nlohmann::json;

constexpr const char* format_name = "tandem state";
constexpr int format_version = 3;

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw ConfigError("state '" + path + "': " + what);
}

}  // namespace

SavedState SavedState::load(const std::string& path) { return read(path, true); }
SavedState SavedState::load_numbers(const std::string& path) { return read(path, false); }

SavedState SavedState::read(const std::string& path, bool with_vectors) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(path, std::string("cannot be opened: ") + std::strerror(errno));
  SavedState state;
  state.path_ = path;
  state.restores_ = true;
  std::string line;
  std::getline(file, line);
  std::vector<std::pair<std::string, std::size_t>> sizes;
  std::error_code error;
  const std::uintmax_t found = std::filesystem::file_size(path, error);
  if (error) fail(path, "cannot be read: " + error.message());
  std::uintmax_t expected = line.size() + 1;
  try {
    const json header = json::parse(line);
    if (header.at("format") != format_name || header.at("version") != format_version)
      fail(path, "expected format '" + std::string(format_name) + "', version " +
                     std::to_string(format_version) + ", found " + header.at("format").dump() + ", version " +
                     header.at("version").dump());
    state.numbers_ = header.at("numbers");
    for (const auto& vector : header.at("vectors")) {
      const auto& [name, size] =
          sizes.emplace_back(vector.at(0).get<std::string>(), vector.at(1).get<std::size_t>());
      if (size > found / sizeof(float))
        fail(path, "expected " + std::to_string(size) + " values of '" + name + "', found fewer bytes");
      expected += size * sizeof(float);
    }
  } catch (const json::exception&) {
    fail(path, "expected a state that Tandem wrote, found other bytes");
  }
  if (found != expected)
    fail(path, "incomplete: expected " + std::to_string(expected) + " bytes, found " + std::to_string(found));
  if (!with_vectors) return state;
  for (const auto& [name, size] : sizes) {
    auto& values = state.vectors_[name];
    values.resize(size);
    file.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(size * sizeof(float)));
  }
  if (!file) fail(path, "cannot be read");
  return state;
}

void SavedState::save(const std::string& path) const {
  json sizes = json::array();
  for (const auto& [name, values] : vectors_) sizes.push_back(json::array({name, values.size()}));
  const json header = {
      {"format", format_name}, {"version", format_version}, {"numbers", numbers_}, {"vectors", sizes}};
  write_own_file(path, [&](std::ostream& file) {
    file << header.dump() << '\n';
    for (const auto& [name, values] : vectors_)
      file.write(reinterpret_cast<const char*>(values.data()),
                 static_cast<std::streamsize>(values.size() * sizeof(float)));
  });
}

void SavedState::restore_known() {
  restores_ = true;
  leaves_unknown_ = true;
}

void SavedState::copy_floats(const std::string& from, const std::string& to) {
  if (const auto found = vectors_.find(from); found != vectors_.end()) vectors_[to] = found->second;
}

void SavedState::forget(const std::function<bool(const std::string& name)>& is_meant) {
  std::erase_if(vectors_, [&](const auto& vector) { return is_meant(vector.first); });
  json kept = json::object();
  for (const auto& [name, value] : numbers_.items())
    if (!is_meant(name)) kept[name] = value;
  numbers_ = std::move(kept);
}

bool SavedState::puts_back(const std::string& name, bool known) const {
  if (!known && !leaves_unknown_) fail(path_, "expected '" + name + "', found nothing of that name");
  return known;
}

void SavedState::number(const std::string& name, std::int64_t& value) {
  if (!restores_)
    numbers_[name] = value;
  else if (puts_back(name, has(name)))
    value = integer(name);
}

void SavedState::number(const std::string& name, double& value) {
  if (!restores_)
    numbers_[name] = value;
  else if (puts_back(name, has(name)))
    value = real(name);
}

void SavedState::floats(const std::string& name, std::span<float> values) {
  if (!restores_) {
    vectors_[name].assign(values.begin(), values.end());
    return;
  }
  const auto found = vectors_.find(name);
  if (!puts_back(name, found != vectors_.end())) return;
  if (found->second.size() != values.size())
    fail(path_, "expected " + std::to_string(values.size()) + " values of '" + name + "', found " +
                    std::to_string(found->second.size()));
  std::copy(found->second.begin(), found->second.end(), values.begin());
}

const json& SavedState::at(const std::string& name) const {
  const auto found = numbers_.find(name);
  if (found == numbers_.end() || !found->is_number())
    fail(path_, "expected a number '" + name + "', found none");
  return *found;
}

std::int64_t SavedState::integer(const std::string& name) const { return at(name).get<std::int64_t>(); }
std::string SavedState::text(const std::string& name) const {
  const auto found = numbers_.find(name);
  if (found == numbers_.end() || !found->is_string())
    fail(path_, "expected a text '" + name + "', found none");
  return found->get<std::string>();
}
double SavedState::real(const std::string& name) const { return at(name).get<double>(); }

}  // namespace tandem
