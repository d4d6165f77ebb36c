// The bytes of a message of samples, and the memory of messages that were sent, which later messages use
// again.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "policies/vocabulary/units.hpp"

namespace tandem {

struct SampleBytes {
  Bytes size{0};
  std::vector<std::byte> records = {};  ///< empty when math is modelled
};

/// Memory of messages that were sent.
class SpareRecords {
 public:
  /// Gives the message memory of its size. Its contents are not specified.
  void give(SampleBytes& message) {
    if (!spare_.empty()) {
      message.records = std::move(spare_.back());
      spare_.pop_back();
    }
    message.records.resize(static_cast<std::size_t>(message.size.count()));
  }
  void keep(std::vector<std::byte> records) {
    if (records.capacity() > 0) spare_.push_back(std::move(records));
  }

 private:
  std::vector<std::vector<std::byte>> spare_;
};

}  // namespace tandem
