// Times of the library's all-reduce, by ranks and sizes.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "policies/vocabulary/quantile.hpp"
#include "policies/vocabulary/rng.hpp"
#include "workloads/calibration/measurement.hpp"
#include "workloads/vectors/compute_device.hpp"

namespace tandem::calibration {

namespace {

constexpr Channel sums{4, false};

struct Kind {
  int ranks;
  std::int64_t bytes;
};

/// Bytes per second; 0 if no path has links.
double slowest_path(const CalibrationSetting& setting) {
  double slowest = 0.0;
  for (const Partner& partner : setting.partners)
    if (partner.bandwidth > 0.0 && (slowest == 0.0 || partner.bandwidth < slowest))
      slowest = partner.bandwidth;
  return slowest;
}

/// Numbers of ranks (powers of two, and all workers), each with the sizes that do not take too long on the
/// slowest path to a partner.
std::vector<Kind> kinds_for(int workers, const CalibrationSetting& setting) {
  constexpr double longest_s = 0.1;
  const double slowest = slowest_path(setting);
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

/// The measurements of the ranks of one series.
struct SeriesTimes {
  std::map<std::int64_t, std::vector<double>> alone_s;  ///< by size, of each repetition
  std::vector<double> together_s;                       ///< from the start of all to the end of the last
};

double bytes_of(const AllReduceSeries& series) {
  double bytes = 0.0;
  for (const std::int64_t size : series.bytes) bytes += static_cast<double>(size);
  return bytes;
}

/// Repetitions in a time that is acceptable, if the library sends each vector about twice over the slowest
/// path; one where each takes longer than that, and none where the vectors take too much memory.
int repetitions_of(const AllReduceSeries& series, const CalibrationSetting& setting) {
  constexpr double acceptable_s = 20.0;
  constexpr double most_bytes = 512.0 * (1 << 20);
  constexpr int fewest = 3;
  const double bytes = bytes_of(series);
  if (bytes > most_bytes) return 0;
  const double slowest = slowest_path(setting);
  // Each size alone, twice, and all together twice.
  const double once_s = slowest > 0.0 ? 8.0 * bytes / slowest : 0.0;
  if (once_s <= 0.0) return setting.series_repetitions;
  if (once_s > acceptable_s) return 1;
  const int fitting = static_cast<int>(std::min(1e6, acceptable_s / once_s));
  return std::clamp(fitting, std::min(fewest, setting.series_repetitions), setting.series_repetitions);
}

/// The first worker and others, in the order of their ranks; all members draw the same.
std::vector<Rank> draw_members(std::span<const Rank> workers, int count, Rng& random) {
  std::vector<Rank> others(workers.begin() + 1, workers.end());
  random.shuffle(others);
  std::vector<Rank> members = {workers.front()};
  members.insert(members.end(), others.begin(), others.begin() + count - 1);
  std::sort(members.begin(), members.end());
  return members;
}

void measure_once(Context& context, const AllReduceSeries& series, std::span<const Rank> members,
                  std::span<float> buffer, SeriesTimes& times) {
  const auto vector_at = [&](std::size_t element, std::int64_t bytes) {
    return Slice{Bytes(bytes), reinterpret_cast<std::byte*>(buffer.data() + element)};
  };
  // Twice: in the first one, members wait for each other.
  const auto measured = [&](const auto& run) {
    run();
    const Seconds start = context.now();
    run();
    return (context.now() - start).count();
  };
  const auto together = [&] {
    std::vector<Pending> pendings;
    std::size_t at = 0;
    for (const std::int64_t bytes : series.bytes) {
      pendings.push_back(context.all_reduce(members, sums, vector_at(at, bytes)));
      at += static_cast<std::size_t>(bytes) / sizeof(float);
    }
    context.wait_all(pendings);
  };
  for (const std::int64_t bytes : std::set<std::int64_t>(series.bytes.begin(), series.bytes.end()))
    times.alone_s[bytes].push_back(measured([&] {
      Pending sum = context.all_reduce(members, sums, vector_at(0, bytes));
      context.wait(sum);
    }));
  times.together_s.push_back(measured(together));
}

SeriesTimes measure_series(Context& context, std::span<const Rank> workers, const AllReduceSeries& series,
                           const CalibrationSetting& setting, Rng random) {
  std::size_t elements = 0;
  for (const std::int64_t bytes : series.bytes) elements += static_cast<std::size_t>(bytes) / sizeof(float);
  SeriesTimes times;
  const int repetitions = repetitions_of(series, setting);
  if (repetitions == 0) return times;
  const FloatArray buffer(context.device(), elements);
  for (int i = 0; i < repetitions; ++i) {
    const std::vector<Rank> members = draw_members(workers, series.ranks, random);
    if (std::ranges::find(members, context.rank()) == members.end()) continue;
    context.device().fill(buffer.data(), std::ssize(buffer.span()), 1.0F);
    context.device().finish();
    measure_once(context, series, members, buffer.span(), times);
  }
  return times;
}

/// When the last of all-reduces that start together ends, if one behind another adds this share of its time
/// alone: as in a simulation (sim/rank_context.cpp).
double end_of(const std::vector<double>& alone_s, double share) {
  double end_s = 0.0;
  for (const double own_s : alone_s) end_s = std::max(own_s, end_s + (end_s > 0.0 ? share : 1.0) * own_s);
  return end_s;
}

/// The share with which the series ends when it did.
double share_behind(const std::vector<double>& alone_s, double together_s) {
  double low = 0.0;
  double high = 1.0;
  for (int i = 0; i < 40; ++i) {
    const double middle = (low + high) / 2;
    (end_of(alone_s, middle) < together_s ? low : high) = middle;
  }
  return high;
}

std::vector<Profile::AllReduceEntry> entries_of(const AllReduceSeries& series, const SeriesTimes& times) {
  std::vector<double> alone_s;
  for (const std::int64_t bytes : series.bytes) alone_s.push_back(quantile(times.alone_s.at(bytes), 0.5));
  const double share = share_behind(alone_s, quantile(times.together_s, 0.5));
  std::vector<Profile::AllReduceEntry> entries;
  for (const auto& [bytes, raw_s] : times.alone_s) {
    const double median_s = quantile(raw_s, 0.5);
    entries.push_back(
        {series.ranks, bytes, median_s, spread_of(raw_s), raw_s, share * median_s, times.together_s});
  }
  return entries;
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
  const auto ranks = std::ssize(workers);
  for (std::size_t i = 0; i < setting.all_reduce_series.size(); ++i) {
    const AllReduceSeries& series = setting.all_reduce_series[i];
    if (series.ranks > ranks) continue;
    const SeriesTimes measured =
        measure_series(context, workers, series, setting, Rng::stream(seed, "all-reduce series", i));
    if (context.rank() != 0 || measured.together_s.empty()) continue;
    for (auto& entry : entries_of(series, measured)) {
      std::erase_if(entries, [&](const auto& known) {
        return known.ranks == entry.ranks && known.bytes == entry.bytes;
      });
      entries.push_back(std::move(entry));
    }
  }
  std::ranges::sort(entries, {}, [](const auto& entry) { return std::pair(entry.ranks, entry.bytes); });
  return entries;
}

}  // namespace tandem::calibration
