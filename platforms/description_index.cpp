#include "platforms/description_index.hpp"

namespace tandem::platforms {

HostIndex::HostIndex(const Description& description) : description_(description) {
  hosts_.reserve(description.hosts.size());
  for (const Host& host : description.hosts) hosts_.emplace(host.name, &host);
}

const Host* HostIndex::find(std::string_view name) const {
  const auto found = hosts_.find(name);
  return found == hosts_.end() ? nullptr : found->second;
}

const Host& HostIndex::host(const std::string& name) const {
  const Host* const found = find(name);
  return found != nullptr ? *found : description_.host(name);
}

}  // namespace tandem::platforms
