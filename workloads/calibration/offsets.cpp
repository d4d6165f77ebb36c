// Whether a link favours the older of two transfers: transfers into or out of rank 0 start one after the
// other, and their ends are compared with their starts. Equal shares keep the distance; a queue, or a larger
// share for the older transfer, increases it. Asynchronous jobs settle into other phases in the two cases.
#include <algorithm>
#include <array>

#include "policies/vocabulary/quantile.hpp"
#include "workloads/calibration/measurement.hpp"

namespace tandem::calibration {

namespace {

/// A gradient of lenet: many packets, and short enough to be repeated.
constexpr std::int64_t transfer_bytes = 1'700'000;

/// Transfers of one size in one direction, each starting this share of a transfer's duration after the one
/// before.
struct Experiment {
  bool out;  ///< of rank 0
  std::size_t transfers;
  double offset;
};

constexpr std::size_t most_transfers = 3;

std::vector<Experiment> experiments_for(std::size_t sharers) {
  std::vector<Experiment> all;
  for (const bool out : {false, true})
    for (std::size_t transfers = 2; transfers <= most_transfers; ++transfers)
      for (const double offset : {0.0, 0.25, 0.5, 0.75})
        if (transfers <= sharers) all.push_back({out, transfers, offset});
  return all;
}

/// The sharers of an experiment: each with a transfer, and those with one in the other direction.
struct Parts {
  std::vector<Rank> transfers, opposite;

  /// Another sharer is the first one in each repetition.
  static Parts of(std::vector<Rank> sharers, std::size_t transfers, std::size_t opposite, int repetition) {
    std::ranges::rotate(sharers, sharers.begin() + repetition % std::ssize(sharers));
    const auto first = sharers.begin() + static_cast<std::ptrdiff_t>(transfers);
    const auto last = first + std::min(static_cast<std::ptrdiff_t>(opposite), sharers.end() - first);
    return {{sharers.begin(), first}, {first, last}};
  }
};

/// What rank 0 and the sharers send and receive in an experiment. A transfer from a sharer starts when the
/// sharer receives an empty message. A transfer to a sharer ends when rank 0 receives an empty answer.
/// Meanwhile the other sharers carry as many bytes the other way, as a server's replies to other workers do.
/// With such traffic, the ends of asynchronous jobs' transfers are less far apart.
class Transfers {
 public:
  Transfers(Context& context, std::size_t most)
      : context_(context), out_(transfer_bytes), in_(most, std::vector<std::byte>(transfer_bytes)) {}

  /// Rank 0's part. Returns when each transfer ended, in the order of their starts, counted from the first
  /// start.
  std::vector<double> carry_out(bool out, const Parts& parts, Seconds spacing) {
    const auto& sharers = parts.transfers;
    std::vector<Pending> answers, questions, opposite;
    auto room = in_.begin();
    for (const Rank sharer : parts.opposite) {
      opposite.push_back(protocol::receive<"pongs">(context_, sharer, {arriving(!out), (room++)->data()}));
      opposite.push_back(protocol::send<"pings">(context_, sharer, {leaving(!out), out_.data()}));
    }
    for (const Rank sharer : sharers)
      answers.push_back(protocol::receive<"pongs">(context_, sharer, {arriving(out), (room++)->data()}));
    std::vector<double> ends_s(sharers.size());
    const Seconds begin = context_.now();
    // The last one ends when the next transfer has to start.
    Pending& alarm = answers.emplace_back();
    for (std::size_t open = sharers.size(); open > 0;) {
      if (alarm.empty() && questions.size() < sharers.size()) {
        questions.push_back(
            protocol::send<"pings">(context_, sharers[questions.size()], {leaving(out), out_.data()}));
        const Seconds next = begin + spacing * static_cast<double>(questions.size());
        if (questions.size() < sharers.size())
          alarm = context_.sleep(std::max(Seconds(0), next - context_.now()));
      }
      const std::size_t ended = context_.wait_any(answers).index;
      if (ended == sharers.size()) continue;
      ends_s[ended] = (context_.now() - begin).count();
      --open;
    }
    context_.wait_all(questions);
    context_.wait_all(opposite);
    return ends_s;
  }

  /// The part of a rank that shares the link.
  void take_part(bool out) {
    Pending question = protocol::receive<"pings">(context_, 0, {leaving(out), in_.front().data()});
    context_.wait(question);
    Pending answer = protocol::send<"pongs">(context_, 0, {arriving(out), out_.data()});
    context_.wait(answer);
  }

 private:
  static Bytes leaving(bool out) { return Bytes(out ? transfer_bytes : 0); }
  static Bytes arriving(bool out) { return Bytes(out ? 0 : transfer_bytes); }

  Context& context_;
  std::vector<std::byte> out_;
  std::vector<std::vector<std::byte>> in_;
};

/// The median duration of a transfer alone, in each direction; 0 on other ranks than rank 0.
std::array<Seconds, 2> durations_alone(Context& context, Transfers& transfers,
                                       const CalibrationSetting& setting) {
  std::array<Seconds, 2> durations;
  for (const bool out : {false, true}) {
    std::vector<double> raw_s;
    for (int repetition = 0; repetition < setting.offset_repetitions; ++repetition) {
      const auto parts = Parts::of(setting.sharers, 1, 0, repetition);
      if (context.rank() == 0)
        raw_s.push_back(transfers.carry_out(out, parts, Seconds(0)).front());
      else if (context.rank() == parts.transfers.front())
        transfers.take_part(out);
    }
    if (!raw_s.empty()) durations[out ? 1 : 0] = Seconds(quantile(raw_s, 0.5));
  }
  return durations;
}

}  // namespace

std::vector<Profile::OffsetEntry> measure_offsets(Context& context, const CalibrationSetting& setting,
                                                  std::uint64_t seed) {
  const auto& sharers = setting.sharers;
  const bool shares = std::ranges::find(sharers, context.rank()) != sharers.end();
  if (sharers.size() < 2 || (context.rank() != 0 && !shares)) return {};
  Transfers transfers(context, std::min(2 * most_transfers, sharers.size()));
  const auto alone = durations_alone(context, transfers, setting);
  const auto experiments = experiments_for(sharers.size());
  std::vector<Profile::OffsetEntry> entries;
  for (const auto& experiment : experiments) {
    const Seconds duration = alone[experiment.out ? 1 : 0];
    entries.push_back({.bytes = transfer_bytes,
                       .out = experiment.out,
                       .transfers = static_cast<int>(experiment.transfers),
                       .alone_s = duration.count(),
                       .start_s = (duration * experiment.offset).count(),
                       .ends_s = {}});
  }
  int repetition = 0;
  const std::vector<int> often(experiments.size(), setting.offset_repetitions);
  for (const std::size_t kind : shuffled_plan(often, seed)) {
    const auto& [out, count, offset] = experiments[kind];
    const auto parts = Parts::of(sharers, count, count, repetition++);
    const auto has_part = [&](const std::vector<Rank>& ranks) {
      return std::ranges::find(ranks, context.rank()) != ranks.end();
    };
    if (context.rank() == 0)
      entries[kind].ends_s.push_back(transfers.carry_out(out, parts, Seconds(entries[kind].start_s)));
    else if (has_part(parts.transfers))
      transfers.take_part(out);
    else if (has_part(parts.opposite))
      transfers.take_part(!out);
  }
  return context.rank() == 0 ? entries : std::vector<Profile::OffsetEntry>();
}

}  // namespace tandem::calibration
