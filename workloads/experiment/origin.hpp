// The key and the place in an error about a key.
#pragma once

#include <functional>
#include <string>

namespace tandem {

/// The place of a key, and the key as the user wrote it.
struct Origin {
  std::string place;
  std::string label;
  bool is_given = false;  ///< a file or an override sets it; otherwise it has its default
  /// No reason for a warning where it has no effect: it follows from another value (a preset, a file), or is
  /// also set for another variant, job or configuration, where it acts.
  bool may_be_idle = false;
};
using Locate = std::function<Origin(const std::string& path)>;

/// "lab.yaml:7: variants.asp.sync.over" of a key that is set, otherwise the key alone. `locate`: empty where
/// that is not known.
inline std::string located_key(const Locate& locate, const std::string& path) {
  if (!locate) return path;
  const Origin origin = locate(path);
  return origin.is_given ? origin.place + ": " + origin.label : path;
}

}  // namespace tandem
