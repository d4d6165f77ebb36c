// Measures the inputs of a prediction: times of the operations of a step, of messages between ranks, of
// all-reduces and of storage accesses. Runs on any context: calibrating a simulated cluster checks the
// method itself.
#pragma once

#include <limits>

#include "workloads/context.hpp"
#include "workloads/cost/profile.hpp"
#include "workloads/job/plan/job.hpp"

namespace tandem {

/// A rank that exchanges messages with another rank (rank 0 by default), and the route between them according
/// to the platform file.
struct Partner {
  Rank rank = 1;
  int links = 0;  ///< see Profile::Path
  double bandwidth = 0.0;
  Rank from = 0;
};

/// All-reduces that a step of some job starts one after the other, in this order.
struct AllReduceSeries {
  int ranks = 2;
  std::vector<std::int64_t> bytes = {};  ///< of each, multiples of 4
  bool operator==(const AllReduceSeries&) const = default;
};

struct CalibrationSetting {
  /// Limit of the reads of a disk at the same time that are measured. The context needs as many transfers.
  static constexpr int deepest_reads = 64;
  std::vector<Partner> partners = {{}};  ///< the first one is rank 0's
  /// Ranks that share only the link of rank 0 with each other and are equally fast: they send to rank 0
  /// concurrently. Fewer than two: sharing is not measured.
  std::vector<Rank> sharers = {};
  std::string cluster = {};                 ///< see Profile
  bool is_real = false;                     ///< the cluster is not emulated
  std::vector<std::int64_t> message_bytes;  ///< sizes to send to each partner
  /// Ascending sizes of MPI's own all-reduce among the workers, multiples of 4; sizes that would take too
  /// long according to the platform file are left out.
  std::vector<std::int64_t> all_reduce_bytes;
  /// All-reduces of the jobs whose times will be predicted. Each is measured in its exact size, whatever its
  /// duration, up to 512 MiB together; and all of a series together, as in a step. With fewer ranks than all
  /// workers: once among the first ranks, and among others, which are drawn each time.
  std::vector<AllReduceSeries> all_reduce_series = {};
  /// Largest message that the transport sends before its receive is posted. Stored in the profile.
  std::int64_t eager_bytes = std::numeric_limits<std::int64_t>::max();
  /// One rank of each host, or kind of host, except rank 0's; its device is measured, too. Empty: all hosts
  /// are assumed to be equally fast.
  std::vector<Rank> host_ranks = {};
  int message_repetitions = 30;    ///< round trips of each size; fewer for sizes with long times
  int compute_repetitions = 9;     ///< of each operation; fewer with messages if they last long
  int all_reduce_repetitions = 5;  ///< per size and number of ranks
  int series_repetitions = 15;     ///< of each series; fewer of those that last long
  int host_repetitions = 5;        ///< of a step, on each further host
  int sharing_repetitions = 15;
  int offset_repetitions = 9;      ///< of each number of transfers, direction and offset
  int lateness_repetitions = 150;  ///< emulated operations of each rank
  int storage_repetitions = 9;     ///< reads and writes of each size
  int disk_repetitions = 3;        ///< of each size and number of reads at the same time; 0: none
};

/// Messages of 1 B to 16 MiB, log-uniform; all-reduces of 4 B to 16 MiB.
CalibrationSetting default_calibration();

/// One all-reduce of floats for each bucket: among all workers, and among as many as the algorithm's groups
/// have. For compressed messages, the sums of floats that move the same number of bytes
/// (ExchangePlan::summed_elements). Empty with a single worker.
std::vector<AllReduceSeries> all_reduce_series_of(const Job& job);

nlohmann::json to_json(const std::vector<AllReduceSeries>& series);
/// Errors: ConfigError when it is not a list of series of at least two ranks.
std::vector<AllReduceSeries> all_reduce_series_from_json(const nlohmann::json& json);

/// The form of partners in the document that starts the ranks, next to the job.
nlohmann::json to_json(const std::vector<Partner>& partners);
/// Errors: ConfigError when it is not a list of partners, or empty.
std::vector<Partner> partners_from_json(const nlohmann::json& json);

/// Every rank of the job's world calls it. Rank 0 returns the measurements (without machine, software, date
/// and command), the others an empty profile. All sizes and kinds are measured in one shuffled order, so
/// that a drift of the machine increases the spread and causes no trend. Ranks that measure nothing wait, as
/// in a job. Pre: at least two ranks.
Profile calibrate(const Job& job, Context& context, const CalibrationSetting& setting);

/// Latency, rate and number of parallel requests of DiskQueue, from measurements. The rate is the highest of
/// all reads in bytes per second. The latency is the time of the smallest read alone, without the time of
/// its bytes. The number of parallel requests is how many times as fast the smallest reads were together as
/// alone. Pre: the smallest reads were measured with depth 1.
void fit_disk(Profile::DiskEntry& entry);

/// Piecewise linear fit of message times: at most four segments, breakpoints chosen to minimise the squared
/// relative error, each further segment only if it lowers an error above a thousandth by
/// a fifth. Pre: entries sorted by size, none empty.
std::vector<Profile::NetworkSegment> fit_network(const std::vector<Profile::MessageEntry>& messages);

/// Bytes that the transport buffers, estimated from the largest messages: the part that had not arrived when
/// the send was complete. Pre: as fit_network; `segments`: fitted to the messages.
std::int64_t fit_held(const std::vector<Profile::MessageEntry>& messages,
                      const std::vector<Profile::NetworkSegment>& segments);

}  // namespace tandem
