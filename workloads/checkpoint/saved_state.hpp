// The state of one rank of a job, in memory and as a file: a line of JSON with the numbers, the texts and
// the sizes of the vectors, then the values of the vectors as bytes.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "workloads/vectors/state_archive.hpp"

namespace tandem {

class SavedState : public StateArchive {
 public:
  /// Empty; collects values.
  SavedState() = default;
  /// Restores the values of the file. Errors: ConfigError naming the file when it cannot be read, is not a
  /// state file of Tandem, or is not complete.
  static SavedState load(const std::string& path);
  /// The same without the vectors, which must still be in the file.
  static SavedState load_numbers(const std::string& path);
  /// Written atomically. Errors: WorldError when it cannot be written.
  void save(const std::string& path) const;

  /// From now on it restores the values that it holds, and leaves others unchanged.
  void restore_known();

  bool restores() const override { return restores_; }
  using StateArchive::number;
  void number(const std::string& name, std::int64_t& value) override;
  void number(const std::string& name, double& value) override;
  void floats(const std::string& name, std::span<float> values) override;

  void set(const std::string& name, std::int64_t value) { numbers_[name] = value; }
  void set_text(const std::string& name, const std::string& value) { numbers_[name] = value; }
  bool has(const std::string& name) const { return numbers_.contains(name); }
  /// The vector `to` becomes a copy of `from`, if there is one.
  void copy_floats(const std::string& from, const std::string& to);
  /// Removes the values of all names for which `is_meant` is true.
  void forget(const std::function<bool(const std::string& name)>& is_meant);
  /// Errors: ConfigError when there is no such value.
  std::int64_t integer(const std::string& name) const;
  double real(const std::string& name) const;
  std::string text(const std::string& name) const;

 private:
  static SavedState read(const std::string& path, bool with_vectors);
  const nlohmann::json& at(const std::string& name) const;
  /// Whether the value of a name is restored. Errors: ConfigError.
  bool puts_back(const std::string& name, bool known) const;

  std::string path_ = "in memory";
  bool restores_ = false;
  bool leaves_unknown_ = false;
  nlohmann::json numbers_ = nlohmann::json::object();  ///< and texts
  std::map<std::string, std::vector<float>> vectors_;
};

}  // namespace tandem
