// The error of a device, or of its host, without enough memory. Apart from other errors, since who knows the
// job can tell what to do about it.
#pragma once

#include "policies/vocabulary/check.hpp"

namespace tandem {

/// Its text says who complains, and what was asked for and free as far as that is known.
class NoMemoryError : public WorldError {
 public:
  explicit NoMemoryError(const std::string& complaint, bool of_host = false)
      : WorldError(complaint), of_host_(of_host) {}
  /// It is memory of the host that is lacking, and none of the device's own.
  bool of_host() const { return of_host_; }

 private:
  bool of_host_;
};

}  // namespace tandem
