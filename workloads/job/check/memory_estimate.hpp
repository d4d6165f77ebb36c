// How much memory each rank of a job needs, from sizes alone: what its parts allocate when mathematics is
// real. Pure arithmetic; knows no platform.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "workloads/job/placement/job_ranks.hpp"
#include "workloads/job/plan/job.hpp"

namespace tandem {

struct RankMemory {
  /// Parameters and running statistics, with the copies that are in flight, and those that tensor cores need.
  Bytes model{0};
  Bytes gradient{0};     ///< of a worker; of a server, the sum of gradients, changes or models
  Bytes optimizer{0};    ///< momentum, or Adam's moments
  Bytes algorithm{0};    ///< older models, changes, a server's data for each worker
  Bytes buffers{0};      ///< of messages: received pieces, unsent errors of a compression
  Bytes activations{0};  ///< of one batch, kept for the backward pass, or of one batch of an evaluation
  /// Samples: the worker's shard, batches requested in advance, a cache with its tables of all samples; of a
  /// keeper, commits. With real mathematics every rank of Tandem has the whole data set.
  Bytes data{0};

  Bytes total() const { return model + gradient + optimizer + algorithm + buffers + activations + data; }
};

/// The program with libtorch, before it has allocated anything of the job: 190 MB resident with Debian's
/// libtorch 1.13 (245 to 260 MB with LeNet and Fashion-MNIST, which are 55 to 70 MB).
inline constexpr Bytes program_memory{200'000'000};

/// Without the program. Activations are left out where the model does not say them (ModelDescription).
/// Pre: the job has the rank.
RankMemory estimate_memory(const Job& job, Rank rank);

/// For run.json: one object for each kind of rank that needs an amount of its own, with "role", "ranks" (how
/// many), the parts and the "total" in bytes, without the program.
nlohmann::json describe_memory(const Job& job);

/// The memory that a host's ranks need together, and the memory of the host.
struct HostMemory {
  std::string host;
  int ranks = 0;
  Bytes needed{0};        ///< with the program of each rank, except on a GPU, which holds all but the data
  Bytes available{0};     ///< of the host, or of its GPU
  std::string stated_by;  ///< the property of the platform file, or the device of the catalogue
  RankMemory largest;     ///< of the rank that needs most
};
/// The hosts whose ranks need more memory than they have: <prop id="memory">, or on a GPU <prop
/// id="tandem:device_memory">, or without the property the device's entry in the catalogue. Without any of
/// these, memory is enough. Errors: ConfigError for a property that is not a size.
std::vector<HostMemory> hosts_without_memory(const Job& job);
/// The same for jobs that run at the same time on one platform, whose ranks are `ranks`. Shared parts of
/// jobs (data.shared) need memory for each of them. Pre: at least one job.
std::vector<HostMemory> hosts_without_memory(std::span<const Job> jobs, const JobRanks& ranks);

/// "host 'node-1': 1 rank needs about 12 GB (activations 11 GB, ...), but <prop id=...> gives it 1 GiB".
std::string to_text(const HostMemory& host);
/// "1.2 GB" of the unit "B": three digits, with a decimal prefix.
std::string with_prefix(double value, const char* unit);
std::string readable(Bytes size);

}  // namespace tandem
