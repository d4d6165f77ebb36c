// The directory of cache nodes (data.peers: directory): says which of them holds a sample, and which may keep
// one. It serves one message after the other, in the order in which they arrive.
#pragma once

#include <cstdint>
#include <list>
#include <vector>

#include "policies/cache/directory.hpp"
#include "workloads/context.hpp"
#include "workloads/job/job.hpp"
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
  struct Node {
    Rank rank = 0;
    std::vector<SampleId> ids;  ///< of the message being received
    std::list<Answer> answers;  ///< on their way
  };
  Pending listen(Node& node);
  void look_up(std::size_t number, const protocol::LookUp& asked);
  void serve(std::size_t number, const Note& note);
  void work(Work::Kind kind, std::size_t ids, Kernel kernel);

  Context& context_;
  cache::Directory directory_;
  std::size_t most_ids_;  ///< of a message
  std::vector<Node> nodes_;
};

}  // namespace tandem
