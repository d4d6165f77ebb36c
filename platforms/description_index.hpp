// The hosts of a platform by name, for loops that ask for many.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "platforms/description.hpp"

namespace tandem::platforms {

/// Finds each host in constant time, where Description::host() reads the names of all.
class HostIndex {
 public:
  /// `description` must outlive it, and keep its hosts.
  explicit HostIndex(const Description& description);

  /// Null: there is no such host.
  const Host* find(std::string_view name) const;
  /// Errors: as Description::host().
  const Host& host(const std::string& name) const;

 private:
  const Description& description_;
  std::unordered_map<std::string_view, const Host*> hosts_;
};

}  // namespace tandem::platforms
