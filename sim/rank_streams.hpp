// Messages that have arrived at a simulated rank and were not received, and receives whose message has not
// arrived.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "sim/connection.hpp"
#include "workloads/context.hpp"

namespace tandem::sim {

/// Messages of one (sender, channel): either receives wait in it, or messages do, never both.
struct MessageStream {
  std::uint32_t head = no_operation;
  std::uint32_t tail = no_operation;
  std::uint32_t number = 0;  ///< in the order in which streams were made
  bool holds_receives = false;
  bool carries_note = false;
  MessageStream* next_of_peer = nullptr;  ///< another one of the same sender

  /// `element_of` maps an index to the element that the stream holds under it.
  template <class ElementOf, class Element>
  void append(const ElementOf& element_of, Element& element, std::uint32_t index) {
    element.next = no_operation;
    if (head == no_operation)
      head = index;
    else
      element_of(tail).next = index;
    tail = index;
  }
  /// Removes an element; false: the stream does not contain it.
  template <class NextOf>
  bool unlink(const NextOf& next_of, std::uint32_t index) {
    std::uint32_t before = no_operation;
    for (std::uint32_t at = head; at != no_operation; before = at, at = next_of(at)) {
      if (at != index) continue;
      (before == no_operation ? head : next_of(before)) = next_of(at);
      if (tail == index) tail = before;
      return true;
    }
    return false;
  }
};

class RankStreams {
 public:
  explicit RankStreams(Rank receiver) : receiver_(receiver) {}

  MessageStream& of(Rank from, Channel channel);
  /// Calls `use` for each stream of the sender.
  template <class Use>
  void for_each_of(Rank from, const Use& use) {
    if (!lists_peers_) list_peers();
    const auto first = of_peer_.find(from);
    if (first == of_peer_.end()) return;
    for (MessageStream* at = first->second; at != nullptr; at = at->next_of_peer) use(*at);
  }
  template <class Use>
  void for_each(const Use& use) {
    for (auto& [key, stream] : all_) use(stream);
  }
  void clear();

 private:
  void add_to_peer(Rank from, MessageStream& stream);
  void list_peers();

  Rank receiver_;
  std::unordered_map<std::uint64_t, MessageStream> all_;
  /// By sender: the first in its list. Empty until the streams of a sender are asked for.
  std::unordered_map<Rank, MessageStream*> of_peer_;
  bool lists_peers_ = false;  ///< of_peer_ is in use
};

}  // namespace tandem::sim
