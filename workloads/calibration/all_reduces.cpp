// Times of the library's all-reduce, by ranks and sizes.
#include <algorithm>

#include "policies/vocabulary/quantile.hpp"
#include "workloads/calibration/measurement.hpp"
#include "workloads/vectors/compute_device.hpp"

namespace tandem::calibration {

namespace {

constexpr Channel sums{4, false};

struct Kind {
  int ranks;
  std::int64_t bytes;
};

/// Numbers of ranks (powers of two, and all workers), each with the sizes that do not take too long on the
/// slowest path to a partner.
std::vector<Kind> kinds_for(int workers, const CalibrationSetting& setting) {
  constexpr double longest_s = 0.1;
  double slowest = 0.0;
  for (const Partner& partner : setting.partners)
    if (partner.bandwidth > 0.0 && (slowest == 0.0 || partner.bandwidth < slowest))
      slowest = partner.bandwidth;
  std::vector<int> counts;
  for (int ranks = 2; ranks < workers; ranks *= 2) counts.push_back(ranks);
  if (workers > 1) counts.push_back(workers);
  std::vector<Kind> kinds;
  for (const int ranks : counts)
    for (const std::int64_t bytes : setting.all_reduce_bytes)
      if (slowest == 0.0 || 2.0 * static_cast<double>(bytes) / slowest <= longest_s)
        kinds.push_back({ranks, bytes});
  return kinds;
}

/// Number of concurrent all-reduces; the buffer has room for all of them.
constexpr int concurrent = 4;

/// Mean seconds of an all-reduce in a series. Each one starts when its last member has finished the one
/// before. The time from the end of the first to the end of the last all-reduce therefore contains nothing
/// else, and no clocks of different ranks are compared.
double time_all_reduce(Context& context, std::span<const Rank> members, Slice vector) {
  constexpr int in_a_row = 3;
  const auto once = [&] {
    Pending sum = context.all_reduce(members, sums, vector);
    context.wait(sum);
  };
  once();
  const Seconds start = context.now();
  for (int i = 0; i < in_a_row; ++i) once();
  return (context.now() - start).count() / in_a_row;
}

/// Seconds of several all-reduces in flight at the same time.
double concurrent_time(Context& context, std::span<const Rank> members, std::span<float> buffer) {
  const std::size_t elements = buffer.size() / concurrent;
  const auto vector = [&](int number) {
    float* data = buffer.data() + elements * static_cast<std::size_t>(number);
    return Slice{Bytes(static_cast<std::int64_t>(elements * sizeof(float))),
                 reinterpret_cast<std::byte*>(data)};
  };
  // All members start together.
  Pending together = context.all_reduce(members, sums, vector(0));
  context.wait(together);
  const Seconds start = context.now();
  std::vector<Pending> pendings;
  for (int number = 0; number < concurrent; ++number)
    pendings.push_back(context.all_reduce(members, sums, vector(number)));
  context.wait_all(pendings);
  return (context.now() - start).count();
}

}  // namespace

std::vector<Profile::AllReduceEntry> measure_all_reduces(Context& context, std::span<const Rank> workers,
                                                         const CalibrationSetting& setting,
                                                         std::uint64_t seed) {
  const auto kinds = kinds_for(static_cast<int>(workers.size()), setting);
  std::vector<std::vector<double>> times(kinds.size()), concurrent_times(kinds.size());
  std::int64_t largest = 0;
  for (const Kind& kind : kinds) largest = std::max(largest, kind.bytes);
  const FloatArray vector(context.device(), static_cast<std::size_t>(largest) / sizeof(float) * concurrent);
  const std::vector<int> repetitions(kinds.size(), setting.all_reduce_repetitions);
  for (const std::size_t number : shuffled_plan(repetitions, seed)) {
    const Kind& kind = kinds[number];
    const auto members = workers.first(static_cast<std::size_t>(kind.ranks));
    if (std::find(members.begin(), members.end(), context.rank()) == members.end()) continue;
    // Repeated sums would overflow eventually, and additions of such numbers may be slow.
    context.device().fill(vector.data(), std::ssize(vector.span()), 1.0F);
    context.device().finish();
    times[number].push_back(
        time_all_reduce(context, members, {Bytes(kind.bytes), reinterpret_cast<std::byte*>(vector.data())}));
    concurrent_times[number].push_back(concurrent_time(
        context, members,
        vector.span().first(static_cast<std::size_t>(kind.bytes) / sizeof(float) * concurrent)));
  }
  std::vector<Profile::AllReduceEntry> entries;
  for (std::size_t i = 0; i < kinds.size() && context.rank() == 0; ++i) {
    const double alone_s = quantile(times[i], 0.5);
    const double behind_s = std::max(0.0, (quantile(concurrent_times[i], 0.5) - alone_s) / (concurrent - 1));
    entries.push_back({kinds[i].ranks, kinds[i].bytes, alone_s, spread_of(times[i]), times[i],
                       std::min(behind_s, alone_s), concurrent_times[i]});
  }
  return entries;
}

}  // namespace tandem::calibration
