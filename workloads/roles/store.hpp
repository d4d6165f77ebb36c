// A store, the remote tier: has samples on the disk of its host, and sends them to cache nodes on request.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <vector>

#include "workloads/context.hpp"
#include "workloads/job/job.hpp"
#include "workloads/protocol.hpp"
#include "workloads/roles/sample_message.hpp"
#include "workloads/roles/sample_reads.hpp"
#include "workloads/roles/served_job.hpp"

namespace tandem {

class Store {
 public:
  /// What it is given must outlive it. `jobs`: whose samples it has, its own one first; these are the same.
  /// `index`: among the stores.
  Store(std::span<const ServedJob> jobs, Context& context, int index);
  void run();

 private:
  struct Reader {
    Rank node = 0;
    std::vector<SampleId> ids;          ///< of the request being received
    std::list<SampleMessage> messages;  ///< being read, or on their way; in the order of the requests
  };
  Pending listen(Reader& reader);
  void begin_read(std::size_t reader, protocol::Read::How how);
  void send(const SampleRead& read);

  const DataPlan& data_;
  std::size_t most_of_read_;  ///< samples
  Context& context_;
  std::shared_ptr<const SampleSource> samples_;  ///< null when math is modelled
  GivenSamples given_;
  DiskSource disk_;
  std::vector<Reader> readers_;
  SpareRecords spare_;
};

}  // namespace tandem
