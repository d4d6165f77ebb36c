// The directory of cache nodes (data.peers: directory): answers which node holds a sample, and which may
// keep one. It serves one message after the other, in the order of their arrival. Cache nodes may depart and
// come back. The directory forgets the samples of a departed node.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <vector>

#include "policies/cache/directory.hpp"
#include "workloads/context.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/membership/joining_client.hpp"
#include "workloads/protocol.hpp"

namespace tandem {

class DirectoryRole {
 public:
  /// The arguments must outlive it.
  DirectoryRole(const Job& job, Context& context);
  void run();

 private:
  struct Answer {
    std::vector<std::int32_t> locations;
    Pending send = {};
  };
  struct Node : JoiningClient {
    std::vector<SampleId> ids;  ///< of the message being received
    std::list<Answer> answers;  ///< in flight
  };
  void listen(std::size_t number);
  void on_message(std::size_t number, const Completion& ended);
  void on_membership(const Note& note);
  void on_departed(std::size_t number);
  void advance_join(std::size_t number, const Completion& last);
  void end_membership();
  void look_up(std::size_t number, const protocol::LookUp& asked);
  void serve(std::size_t number, const Note& note);
  void work(Work::Kind kind, std::size_t ids, Kernel kernel);

  Context& context_;
  cache::Directory directory_;
  std::size_t most_ids_;  ///< of a message
  std::vector<Node> nodes_;
  std::size_t open_ = 0;         ///< nodes that may send messages
  std::optional<Rank> steward_;  ///< where nodes may depart
  bool no_more_join_ = false;
  /// What the directory waits for: the next message of each node, or what a joining node waits for; then the
  /// steward's next note.
  std::vector<Pending> wait_;
};

}  // namespace tandem
