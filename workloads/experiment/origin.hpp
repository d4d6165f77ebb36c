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
};
using Locate = std::function<Origin(const std::string& path)>;

}  // namespace tandem
