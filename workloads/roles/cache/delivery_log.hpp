// Which samples a cache node was asked for and delivered, by epoch, for the coverage in summary.json.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "policies/cache/policy.hpp"
#include "workloads/records/records.hpp"

namespace tandem {

class DeliveryLog {
 public:
  /// The manifest's views and the journal must outlive it. `clients`: number of clients of the node `rank`.
  DeliveryLog(const cache::Manifest& manifest, Rank rank, Journal& journal, std::size_t clients);

  /// A client asks for samples of an epoch, and gets one for each. Where samples have changed places, the
  /// sample served at a position was requested at another one. Epochs that all clients have left are added
  /// to the journal.
  void note(std::size_t client, std::int64_t epoch, std::span<const SampleId> requested,
            std::span<const cache::Serve> serves);
  /// The same, if the client gets the samples that it asks for.
  void note(std::size_t client, std::int64_t epoch, std::span<const SampleId> delivered);
  /// The client asks for nothing more.
  void end(std::size_t client);

 private:
  struct Epoch {
    std::vector<SampleId> requested;
    std::vector<SampleId> delivered;  ///< empty: the requested ones
  };
  void close_left_epochs();
  void close(std::int64_t number, Epoch& epoch);

  cache::Manifest manifest_;
  Rank rank_;
  Journal& journal_;
  std::vector<std::int64_t> epoch_of_;  ///< by client
  std::map<std::int64_t, Epoch> open_;
};

}  // namespace tandem
