#include "workloads/calibration.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/rng.hpp"
#include "workloads/optimizer.hpp"
#include "workloads/records/quantile.hpp"
#include "workloads/roles/record_store.hpp"
#include "workloads/roles/replica.hpp"

namespace tandem {
namespace {

constexpr Channel ping{1, false};
constexpr Channel pong{2, false};

double spread_of(const std::vector<double>& values) {
  const double median = quantile(values, 0.5);
  return median > 0.0 ? (quantile(values, 0.75) - quantile(values, 0.25)) / median : 0.0;
}

/// Every kind as often as `repetitions` says, in a seeded random order that all ranks share.
std::vector<std::size_t> shuffled_plan(const std::vector<int>& repetitions, std::uint64_t seed) {
  std::vector<std::size_t> plan;
  for (std::size_t kind = 0; kind < repetitions.size(); ++kind)
    plan.insert(plan.end(), static_cast<std::size_t>(repetitions[kind]), kind);
  Rng::stream(seed, "calibration").shuffle(plan);
  return plan;
}

/// Slow ways get fewer of the large messages, and none that the slope of smaller ones tells as well.
struct MessagePlan {
  std::vector<std::int64_t> sizes;
  std::vector<int> repetitions;
};

MessagePlan messages_for(const Partner& partner, const CalibrationSetting& setting) {
  constexpr double longest_s = 0.5;
  constexpr double all_of_a_size_s = 2.0;
  constexpr int fewest = 5;
  MessagePlan plan;
  for (const std::int64_t size : setting.message_bytes) {
    const double stated_s = partner.bandwidth > 0.0 ? static_cast<double>(size) / partner.bandwidth : 0.0;
    if (stated_s > longest_s) continue;
    const double affordable = all_of_a_size_s / std::max(2.0 * stated_s, 1e-9);
    plan.sizes.push_back(size);
    plan.repetitions.push_back(
        std::min(setting.message_repetitions, static_cast<int>(std::clamp<double>(affordable, fewest, 1e6))));
  }
  return plan;
}

/// Rank 0's side of one round trip.
struct RoundTrip {
  double one_way_s;
  double send_s;  ///< until the call that sends returned
};

RoundTrip round_trip(Context& context, Rank partner, Slice out, Slice in) {
  Pending answer = context.receive(partner, pong, in);
  const Seconds start = context.now();
  Pending question = context.send(partner, ping, out);
  const Seconds sent = context.now();
  context.wait(question);
  context.wait(answer);
  return {(context.now() - start).count() / 2.0, (sent - start).count()};
}

/// Between rank 0, which gets the result, and its partner.
std::vector<Profile::MessageEntry> measure_messages(Context& context, Rank partner, const MessagePlan& plan,
                                                    std::uint64_t seed) {
  const auto& sizes = plan.sizes;
  std::vector<std::byte> out(static_cast<std::size_t>(*std::max_element(sizes.begin(), sizes.end())));
  std::vector<std::byte> in(out.size());
  std::vector<std::vector<double>> one_way(sizes.size());
  std::vector<std::vector<double>> sends(sizes.size());
  for (const std::size_t kind : shuffled_plan(plan.repetitions, seed)) {
    const Bytes size(sizes[kind]);
    if (context.rank() == 0) {
      const RoundTrip trip = round_trip(context, partner, {size, out.data()}, {size, in.data()});
      one_way[kind].push_back(trip.one_way_s);
      sends[kind].push_back(trip.send_s);
    } else {
      Pending question = context.receive(0, ping, {size, in.data()});
      context.wait(question);
      Pending answer = context.send(0, pong, {size, out.data()});
      context.wait(answer);
    }
  }
  std::vector<Profile::MessageEntry> entries;
  for (std::size_t kind = 0; kind < sizes.size() && context.rank() == 0; ++kind)
    entries.push_back({sizes[kind], quantile(one_way[kind], 0.5), spread_of(one_way[kind]), one_way[kind],
                       quantile(sends[kind], 0.5), sends[kind]});
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  return entries;
}

/// A job of one seat is calibrated with a second rank that has none.
std::string host_name(const Job& job, Rank rank) {
  const auto& seats = job.seats();
  return static_cast<std::size_t>(rank) < seats.size() ? seats[static_cast<std::size_t>(rank)].host : "";
}

/// A piece of work and what really does it.
struct Piece {
  Work work;
  Kernel kernel;
};

/// One training step's pieces in their order; the streaming ones also at half size, to tell cost from
/// start-up.
std::vector<Piece> pieces_of_step(const Job& job, Replica& replica, std::span<const std::byte> records,
                                  std::vector<float>& vector, Sgd& optimizer) {
  const int batch = job.experiment().workload.batch;
  std::vector<Piece> pieces;
  pieces.push_back({{.kind = Work::Kind::decode,
                     .samples = batch,
                     .bytes = Bytes(static_cast<std::int64_t>(records.size()))},
                    replica.load(records)});
  pieces.push_back({{.kind = Work::Kind::forward, .samples = batch}, replica.forward()});
  for (int bucket = 0; bucket < replica.buckets(); ++bucket)
    pieces.push_back(
        {{.kind = Work::Kind::backward, .bucket = bucket, .samples = batch}, replica.backward(bucket)});
  for (const std::size_t share : {std::size_t{2}, std::size_t{1}}) {
    const std::size_t count = vector.size() / (2 * share);
    const Bytes size(static_cast<std::int64_t>(count * sizeof(float)));
    const auto target = std::span(vector).first(count);
    const auto source = std::span<const float>(vector).last(count);
    pieces.push_back({{.kind = Work::Kind::update, .bytes = size},
                      [&optimizer, target, source] { optimizer.apply(target, source, 1.0, 0); }});
    pieces.push_back({{.kind = Work::Kind::reduce, .bytes = size}, [target, source] {
                        for (std::size_t i = 0; i < target.size(); ++i) target[i] += source[i];
                      }});
  }
  return pieces;
}

std::vector<Profile::ComputeEntry> measure_compute(const Job& job, Context& context,
                                                   const CalibrationSetting& setting) {
  if (!job.real_math()) return {};
  Replica replica(job);
  const auto all = job.dataset()->records(Dataset::Part::train);
  const auto batch_bytes = static_cast<std::size_t>(job.dataset_info().record_bytes().count()) *
                           static_cast<std::size_t>(job.experiment().workload.batch);
  std::vector<float> vector(2 * static_cast<std::size_t>(job.model().elements()));
  Sgd optimizer(job.experiment().optimizer.learning_rate, job.experiment().optimizer.momentum,
                job.experiment().optimizer.weight_decay, job.model().elements());
  const auto pieces =
      pieces_of_step(job, replica, all.first(std::min(batch_bytes, all.size())), vector, optimizer);
  std::vector<std::vector<double>> raw(pieces.size());
  // The first repetition warms up and is not kept.
  for (int repetition = 0; repetition <= setting.compute_repetitions; ++repetition)
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const Seconds start = context.now();
      Pending done = context.compute(pieces[i].work, pieces[i].kernel);
      context.wait(done);
      if (repetition > 0) raw[i].push_back((context.now() - start).count());
    }
  std::vector<Profile::ComputeEntry> entries;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const Work& work = pieces[i].work;
    entries.push_back({job.model().name, work.kind, work.bucket, work.samples, work.bytes.count(),
                       quantile(raw[i], 0.5), spread_of(raw[i]), raw[i]});
  }
  return entries;
}

/// Every rank works, as an emulated device does, and sends to the next rank meanwhile: what a job asks of
/// the cores that ranks share.
std::vector<double> measure_lateness(Context& context, const CalibrationSetting& setting) {
  constexpr Seconds work(2e-3);
  constexpr Bytes size(16 << 10);
  std::vector<std::byte> out(static_cast<std::size_t>(size.count()));
  std::vector<std::byte> in(out.size());
  const Rank next = (context.rank() + 1) % context.world_size();
  const Rank previous = (context.rank() + context.world_size() - 1) % context.world_size();
  std::vector<double> lateness;
  for (int repetition = 0; repetition < setting.lateness_repetitions; ++repetition) {
    Pending arriving = context.receive(previous, ping, {size, in.data()});
    Pending leaving = context.send(next, ping, {size, out.data()});
    const Seconds start = context.now();
    Pending done = context.sleep(work);
    context.wait(done);
    lateness.push_back(std::max(0.0, (context.now() - start - work).count()));
    context.wait(arriving);
    context.wait(leaving);
  }
  return lateness;
}

/// Expected largest of `count` standard normals: the integral of 1 - F^count above 0 less that of F^count
/// below.
double expected_largest(std::size_t count) {
  constexpr double far = 9.0;
  constexpr double step = 1e-3;
  double sum = 0.0;
  for (double x = -far + step / 2; x < far; x += step) {
    const double all_below = std::pow(0.5 * std::erfc(-x / std::sqrt(2.0)), static_cast<double>(count));
    sum += step * ((x > 0 ? 1.0 : 0.0) - all_below);
  }
  return sum;
}

/// The times at which rank 0 has each of the messages that were sent to it at once, sorted; it sends as much
/// to each sender meanwhile, as a server does in a job.
std::vector<double> receive_at_once(Context& context, const std::vector<Rank>& sharers, Slice out, Slice in) {
  std::vector<Pending> arriving;
  std::vector<Pending> leaving;
  for (const Rank sharer : sharers) arriving.push_back(context.receive(sharer, pong, in));
  for (const Rank sharer : sharers) {
    Pending go = context.send(sharer, ping, {});
    context.wait(go);
  }
  for (const Rank sharer : sharers) leaving.push_back(context.send(sharer, ping, out));
  const Seconds start = context.now();
  std::vector<double> times;
  for (std::size_t i = 0; i < sharers.size(); ++i) {
    context.wait_any(arriving);
    times.push_back((context.now() - start).count());
  }
  context.wait_all(leaving);
  return times;
}

/// Standard deviation of the logarithm of the weights of N messages that begin together. The one with the
/// largest weight w ends first, and the last one when all bytes are through: last / first is w over the mean
/// weight. Of log-normal weights the logarithm of that is about sigma z - sigma^2 (1 - 1/N) / 2, with z the
/// expected largest of N standard normals.
double spread_of_weights(double log_last_over_first, std::size_t count) {
  const double z = expected_largest(count);
  const double k = 0.5 * (1.0 - 1.0 / static_cast<double>(count));
  const double root = std::sqrt(std::max(0.0, z * z - 4 * k * log_last_over_first));
  return (z - root) / (2 * k);
}

double measure_share_spread(Context& context, const CalibrationSetting& setting) {
  const auto& sharers = setting.sharers;
  const bool shares = std::find(sharers.begin(), sharers.end(), context.rank()) != sharers.end();
  if (sharers.size() < 2 || (context.rank() != 0 && !shares)) return 0.0;
  constexpr Bytes size(1 << 20);
  std::vector<std::byte> out(static_cast<std::size_t>(size.count()));
  std::vector<std::byte> in(out.size());
  double sum = 0.0;
  for (int repetition = 0; repetition < setting.sharing_repetitions; ++repetition) {
    if (context.rank() == 0) {
      const auto times = receive_at_once(context, sharers, {size, out.data()}, {size, in.data()});
      sum += std::log(times.back() / times.front());
    } else {
      Pending go = context.receive(0, ping, {});
      Pending arriving = context.receive(0, ping, {size, in.data()});
      context.wait(go);
      Pending sent = context.send(0, pong, {size, out.data()});
      context.wait(sent);
      context.wait(arriving);
    }
  }
  return spread_of_weights(sum / setting.sharing_repetitions, sharers.size());
}

std::vector<Profile::StorageEntry> measure_storage(const Job& job, Context& context,
                                                   const CalibrationSetting& setting) {
  if (!job.real_math()) return {};
  const RecordStore store(job.directory() + "/calibration_records.bin", *job.dataset());
  const auto record_bytes = static_cast<std::size_t>(job.dataset_info().record_bytes().count());
  Rng random = Rng::stream(job.experiment().seed, "storage calibration");
  std::vector<std::byte> record(record_bytes);
  const auto read_records = [&](int count) {
    const auto samples = static_cast<std::uint64_t>(job.dataset_info().train_samples);
    for (int i = 0; i < count; ++i) store.read(static_cast<SampleId>(random.below(samples)), record);
  };
  const auto write_records = [&](int count) {
    std::ofstream file(job.directory() + "/calibration_written.bin", std::ios::binary);
    for (int i = 0; i < count; ++i)
      file.write(reinterpret_cast<const char*>(record.data()), static_cast<std::streamsize>(record_bytes));
    if (!file.flush()) throw WorldError("cannot write into " + job.directory());
  };
  const std::vector<int> counts = {1, 8, 64, 512};
  std::vector<std::vector<double>> raw(2 * counts.size());
  for (const std::size_t kind :
       shuffled_plan(std::vector<int>(raw.size(), setting.storage_repetitions), job.experiment().seed)) {
    const int count = counts[kind / 2];
    const Bytes size(static_cast<std::int64_t>(record_bytes) * count);
    const Seconds start = context.now();
    Pending transfer = kind % 2 == 0 ? context.read(0, size, [&] { read_records(count); })
                                     : context.write(0, size, [&] { write_records(count); });
    context.wait(transfer);
    raw[kind].push_back((context.now() - start).count());
  }
  std::vector<Profile::StorageEntry> entries;
  for (std::size_t kind = 0; kind < raw.size(); ++kind)
    entries.push_back({static_cast<std::int64_t>(record_bytes) * counts[kind / 2], kind % 2 == 1,
                       quantile(raw[kind], 0.5), spread_of(raw[kind]), raw[kind]});
  return entries;
}

/// Least squares of the relative error over entries [first, last).
struct Line {
  double alpha;
  double beta;
  double error;  ///< sum of squared relative errors
};

Line fit_line(const std::vector<Profile::MessageEntry>& messages, std::size_t first, std::size_t last) {
  double w = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (std::size_t i = first; i < last; ++i) {
    const double weight = 1.0 / (messages[i].median_s * messages[i].median_s);
    const auto size = static_cast<double>(messages[i].bytes);
    w += weight;
    x += weight * size;
    y += weight * messages[i].median_s;
    xx += weight * size * size;
    xy += weight * size * messages[i].median_s;
  }
  const double determinant = w * xx - x * x;
  // Neither a negative start nor a slope beyond any memory's (a terabyte a second) is a message time.
  constexpr double least_beta = 1e-12;
  Line line{.alpha = y / w, .beta = least_beta, .error = 0.0};
  if (determinant > 0.0) line.beta = std::max(least_beta, (w * xy - x * y) / determinant);
  line.alpha = (y - line.beta * x) / w;
  if (line.alpha < 0.0) line = {.alpha = 0.0, .beta = xy / xx, .error = 0.0};
  for (std::size_t i = first; i < last; ++i) {
    const double fitted = line.alpha + line.beta * static_cast<double>(messages[i].bytes);
    const double error = fitted / messages[i].median_s - 1.0;
    line.error += error * error;
  }
  return line;
}

}  // namespace

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Partner, rank, links, bandwidth)

nlohmann::json to_json(const std::vector<Partner>& partners) { return partners; }

std::vector<Partner> partners_from_json(const nlohmann::json& json) {
  try {
    auto partners = json.get<std::vector<Partner>>();
    if (partners.empty()) throw ConfigError("a calibration needs a partner for rank 0");
    return partners;
  } catch (const nlohmann::json::exception& error) {
    throw ConfigError(std::string("not a list of partners: ") + error.what());
  }
}

CalibrationSetting default_calibration() {
  CalibrationSetting setting;
  for (std::int64_t size = 1; size <= (std::int64_t{16} << 20); size *= 4)
    setting.message_bytes.push_back(size);
  for (std::int64_t size = 2048; size <= (std::int64_t{8} << 20); size *= 4)
    setting.message_bytes.push_back(size);
  return setting;
}

Profile calibrate(const Job& job, Context& context, const CalibrationSetting& setting) {
  TANDEM_CHECK(context.world_size() >= 2, "messages need two ranks");
  Profile profile;
  profile.lateness_s = measure_lateness(context, setting);
  profile.share_spread = measure_share_spread(context, setting);
  for (const Partner& partner : setting.partners) {
    if (context.rank() != 0 && context.rank() != partner.rank) continue;
    auto messages =
        measure_messages(context, partner.rank, messages_for(partner, setting), job.experiment().seed);
    if (context.rank() != 0) continue;
    auto segments = fit_network(messages);
    profile.paths.push_back({host_name(job, 0), host_name(job, partner.rank), partner.links,
                             partner.bandwidth, setting.eager_bytes, std::move(messages),
                             std::move(segments)});
  }
  if (context.rank() == 0) {
    profile.compute = measure_compute(job, context, setting);
    profile.storage = measure_storage(job, context, setting);
  }
  // The others wait here, asleep as in a job, so that what is measured includes their presence.
  if (context.rank() > 0) {
    Pending end = context.receive(0, ping, {});
    context.wait(end);
  } else {
    for (Rank rank = 1; rank < context.world_size(); ++rank) {
      Pending told = context.send(rank, ping, {});
      context.wait(told);
    }
  }
  return profile;
}

std::vector<Profile::NetworkSegment> fit_network(const std::vector<Profile::MessageEntry>& messages) {
  constexpr std::size_t most_segments = 4;
  constexpr std::size_t fewest_points = 3;
  const std::size_t points = messages.size();
  TANDEM_CHECK(points >= 2, "points", points);
  // best[k][end]: the cheapest cover of the first `end` points by k + 1 segments, and where its last one
  // begins.
  struct Cover {
    double error = std::numeric_limits<double>::infinity();
    std::size_t begin = 0;
  };
  std::vector<std::vector<Cover>> best(most_segments, std::vector<Cover>(points + 1));
  for (std::size_t end = 2; end <= points; ++end) best[0][end] = {fit_line(messages, 0, end).error, 0};
  std::size_t chosen = 0;
  for (std::size_t k = 1; k < most_segments; ++k) {
    for (std::size_t end = (k + 1) * fewest_points; end <= points; ++end)
      for (std::size_t begin = k * fewest_points; begin + fewest_points <= end; ++begin) {
        const double error = best[k - 1][begin].error + fit_line(messages, begin, end).error;
        if (error < best[k][end].error) best[k][end] = {error, begin};
      }
    // Below a thousandth there is nothing left to explain.
    const bool exact = best[chosen][points].error < 1e-6 * static_cast<double>(points);
    if (!exact && best[k][points].error < 0.8 * best[chosen][points].error) chosen = k;
  }
  std::vector<Profile::NetworkSegment> segments;
  for (std::size_t k = chosen + 1, end = points; k-- > 0;) {
    const std::size_t begin = best[k][end].begin;
    const Line line = fit_line(messages, begin, end);
    segments.push_back({begin == 0 ? 0 : messages[begin].bytes, line.alpha, line.beta});
    end = begin;
  }
  std::reverse(segments.begin(), segments.end());
  return segments;
}

}  // namespace tandem
