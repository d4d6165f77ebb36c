// Costs of pushes of a key on a parameter server, and of the replies to them, if its host states these
// costs. Otherwise updates and sums are the server's work. Pure.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "workloads/context.hpp"

namespace tandem {

class KeyCosts {
 public:
  /// The sizes of a push of a key on the wire, and of the reply to it.
  struct Key {
    int tensors = 0;
    Bytes push{0};
    Bytes reply{0};
  };
  /// By key; empty: the host states no cost.
  explicit KeyCosts(std::vector<Key> keys) : keys_(std::move(keys)) {}

  bool empty() const { return keys_.empty(); }
  /// Pre: not empty.
  Work of_push(std::size_t key) const {
    return {.kind = Work::Kind::push, .bytes = keys_.at(key).push, .tensors = keys_.at(key).tensors};
  }
  /// `brings_model`: otherwise the reply is a note. Pre: not empty.
  Work of_reply(std::size_t key, bool brings_model) const {
    if (!brings_model) return {.kind = Work::Kind::reply};
    return {.kind = Work::Kind::reply, .bytes = keys_.at(key).reply, .tensors = keys_.at(key).tensors};
  }

 private:
  std::vector<Key> keys_;
};

}  // namespace tandem
