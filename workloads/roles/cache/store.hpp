// A store, the remote tier. It has samples on the disk of its host, and sends them to cache nodes on
// request. If cache nodes may depart, their workers may ask the store, too, and all of these may depart and
// join. The store may depart itself, and another one come in its slot with the same disk.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "workloads/context.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/membership/joining_client.hpp"
#include "workloads/protocol.hpp"
#include "workloads/roles/cache/sample_message.hpp"
#include "workloads/roles/cache/sample_reads.hpp"
#include "workloads/roles/cache/served_job.hpp"

namespace tandem {

class Store {
 public:
  /// The arguments must outlive it. `jobs`: the jobs whose samples it has, its own one first; they have the
  /// same samples. `index`: among the stores. `incarnation`: of a store that may depart; from 2 on, it joins
  /// the running job.
  Store(std::span<const ServedJob> jobs, Context& context, int index, int incarnation = 1);
  void run();

 private:
  struct Message : SampleMessage {
    bool is_lost = false;  ///< its reader is gone
  };
  /// A cache node, or a worker.
  struct Reader : JoiningClient {
    std::vector<SampleId> ids;    ///< of the request being received
    std::list<Message> messages;  ///< being read, or in flight; in the order of the requests
  };
  void add_readers(const Job& job);
  void join();
  void advance_join(std::size_t reader, const Completion& last);
  void end_joins();
  bool is_over() const;
  void listen(std::size_t reader);
  void on_message(std::size_t reader, const Completion& ended);
  void on_membership(const Note& note);
  void on_departed(Reader* reader);
  void on_joined(Reader* reader, int incarnation);
  void end_membership();
  void wait_for_sent(Reader& reader);
  void begin_read(std::size_t reader, protocol::Read::How how);
  void send(const SampleRead& read);

  const DataPlan& data_;
  std::size_t most_of_read_;  ///< samples
  Context& context_;
  int incarnation_;
  std::shared_ptr<const SampleSource> samples_;  ///< null when math is modelled
  GivenSamples given_;
  DiskSource disk_;
  std::vector<Reader> readers_;  ///< cache nodes, then workers
  std::size_t open_ = 0;         ///< readers that may send requests
  std::optional<Rank> steward_;  ///< where readers or stores may depart
  bool no_more_join_ = false;
  /// The operations for which the store waits: the next request of each reader, or the next step of a
  /// joining reader; the disk; the steward's next note.
  std::vector<Pending> wait_;
  SpareRecords spare_;
};

}  // namespace tandem
