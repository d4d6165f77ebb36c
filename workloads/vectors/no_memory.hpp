// The error of a device, or of its host, without enough memory. A class of its own, so that a caller that
// knows the job can add advice.
#pragma once

#include "policies/vocabulary/check.hpp"

namespace tandem {

/// Its text names the device, and the requested and free memory if known.
class NoMemoryError : public WorldError {
 public:
  explicit NoMemoryError(const std::string& complaint, bool of_host = false)
      : WorldError(complaint), of_host_(of_host) {}
  /// Memory of the host is lacking, not the device's own.
  bool of_host() const { return of_host_; }

 private:
  bool of_host_;
};

}  // namespace tandem
