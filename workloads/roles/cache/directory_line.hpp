// The messages between a cache node and the directory of cache nodes: questions and reports of the node
// (DirectoryView).
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <utility>
#include <vector>

#include "workloads/context.hpp"
#include "workloads/protocol.hpp"
#include "workloads/roles/cache/cache_actions.hpp"

namespace tandem {

class DirectoryLine {
 public:
  /// `context` must outlive it.
  DirectoryLine(Context& context, Rank directory) : context_(context), directory_(directory) {}

  void ask(AskDirectory question);
  void notify(NotifyDirectory message);
  /// Puts the operation of the oldest question into `wait`, if that is empty and there is one.
  void put_next(Pending& wait);
  struct Answer {
    protocol::Located located;
    std::vector<std::int32_t> locations;
  };
  /// The operation of put_next has ended.
  Answer take_answer(const Note& note);
  /// Frees the memory of messages that were sent. Never blocks.
  void drop_sent();
  /// No message follows. Pre: no answer is awaited.
  void close();

 private:
  struct Message {
    std::vector<SampleId> ids;
    Pending send = {};
  };
  struct Question {
    std::vector<SampleId> ids;
    std::vector<std::int32_t> locations = {};
    Pending sent = {};
    Pending answer = {};
  };
  Slice slice_of(std::vector<SampleId>& ids) const;

  Context& context_;
  Rank directory_;
  std::deque<Question> questions_;  ///< that await their answers
  std::list<Message> messages_;     ///< in flight
};

}  // namespace tandem
