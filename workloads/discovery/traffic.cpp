#include "workloads/discovery/traffic.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/quantile.hpp"

namespace tandem {
namespace {

constexpr Channel orders{1, true};
constexpr Channel results{2, false};
constexpr Channel ping{3, false};
constexpr std::int16_t flow_stream = 4;

// The part of a trial in which arrivals count: all flows have begun, and none has ended.
constexpr double window_begin = 0.3;
constexpr double window_end = 0.95;
// Between an order and its flows, so that the orders of other ranks are not delayed by the flows.
constexpr Seconds before_flows(0.02);
constexpr int round_trips = 40;
constexpr int warm_up_trips = 8;

/// One end of a flow, as rank 0 describes it to the rank.
struct End {
  std::int32_t number;  ///< of the flow, in its trial
  std::int32_t peer;
  std::int32_t sends;
  std::int32_t in_flight;
  std::int64_t chunk;
  std::int64_t most;  ///< bytes
};
static_assert(std::is_trivially_copyable_v<End>);

enum class Task : std::int32_t { flows, measure_latency, answer_latency, end };

struct Order {
  Task task;
  std::int32_t count;  ///< of ends that come with the order; for a latency, the other rank
  double duration_s;   ///< of the trial
};

constexpr std::size_t most_ends = 4096;

Note note_of(const Order& order) {
  Note note;
  static_assert(sizeof(order) <= sizeof(note.bytes));
  std::memcpy(note.bytes.data(), &order, sizeof(order));
  return note;
}

/// A message that ends its flow brings this note.
Note end_of_flow() {
  Note note;
  note.bytes.front() = std::byte{1};
  return note;
}

/// The messages of one rank in one trial.
class Flows {
 public:
  Flows(Context& context, const std::vector<End>& ends, Seconds duration)
      : context_(context), duration_(duration) {
    for (const End& end : ends) {
      flows_.push_back({end,
                        Channel{flow_stream, true, end.number},
                        std::vector<std::byte>(static_cast<std::size_t>(end.chunk)),
                        end.most,
                        {}});
      for (int i = 0; i < end.in_flight; ++i) owners_.push_back(flows_.size() - 1);
    }
  }

  /// The rates of the flows that this rank receives, in the order of its ends.
  std::vector<double> run() {
    Pending wait = context_.sleep(before_flows);
    context_.wait(wait);
    start_ = context_.now();
    pending_.resize(owners_.size());
    for (std::size_t place = 0; place < owners_.size(); ++place) start(place);
    for (std::size_t open = owners_.size(); open > 0;) {
      const Completion done = context_.wait_any(pending_);
      if (is_last(done))
        --open;
      else
        start(done.index);
    }
    std::vector<double> rates;
    for (const Flow& flow : flows_)
      if (flow.end.sends == 0) rates.push_back(rate_of(flow));
    return rates;
  }

 private:
  struct Flow {
    End end;
    Channel channel;
    std::vector<std::byte> chunk;  ///< all messages of a flow have the same content, which is not used
    std::int64_t left;             ///< bytes to send
    std::vector<double> arrivals_s;
  };

  /// The next message. The sender ends a flow with as many messages as the receiver waits for.
  void start(std::size_t place) {
    Flow& flow = flows_[owners_[place]];
    const Slice slice{Bytes(flow.end.chunk), flow.chunk.data()};
    if (flow.end.sends == 0) {
      pending_[place] = context_.receive(flow.end.peer, flow.channel, slice);
      return;
    }
    const bool goes_on = flow.left > 0 && context_.now() - start_ < duration_;
    if (!goes_on) closing_.push_back(place);
    flow.left -= flow.end.chunk;
    pending_[place] = goes_on ? context_.send(flow.end.peer, flow.channel, slice)
                              : context_.send(flow.end.peer, flow.channel, {}, end_of_flow());
  }

  /// Whether the place has nothing more to do; records the arrival.
  bool is_last(const Completion& done) {
    Flow& flow = flows_[owners_[done.index]];
    if (flow.end.sends != 0) return std::ranges::find(closing_, done.index) != closing_.end();
    if (done.note == end_of_flow()) return true;
    flow.arrivals_s.push_back((context_.now() - start_).count());
    return false;
  }

  /// The rate of the messages that arrived within the window, from the first to the last; of all, if there
  /// are few.
  double rate_of(const Flow& flow) const {
    const auto& times = flow.arrivals_s;
    auto first = std::ranges::lower_bound(times, window_begin * duration_.count());
    auto last = std::ranges::upper_bound(times, window_end * duration_.count());
    constexpr std::ptrdiff_t few = 8;
    if (last - first < few) first = times.begin(), last = times.end();
    if (last - first < 2) return static_cast<double>(flow.end.chunk) / duration_.count();
    const double seconds = *(last - 1) - *first;
    return static_cast<double>((last - first - 1) * flow.end.chunk) / std::max(seconds, 1e-9);
  }

  Context& context_;
  Seconds duration_;
  Seconds start_{0};
  std::vector<Flow> flows_;
  std::vector<std::size_t> owners_;  ///< the flow of each place
  std::vector<Pending> pending_;
  std::vector<std::size_t> closing_;  ///< places of senders whose message ends a flow
};

/// Half of the median round trip of one byte. Both ranks call it.
double one_way_s(Context& context, Rank peer, bool measures) {
  std::byte byte{};
  const Slice slice{Bytes(1), &byte};
  std::vector<double> times;
  for (int trip = 0; trip < round_trips; ++trip) {
    const Seconds start = context.now();
    for (const bool sends : {measures, !measures}) {
      Pending pending = sends ? context.send(peer, ping, slice) : context.receive(peer, ping, slice);
      context.wait(pending);
    }
    if (trip >= warm_up_trips) times.push_back((context.now() - start).count() / 2);
  }
  return quantile(times, 0.5);
}

void order(Context& context, Rank rank, const Order& what, std::vector<End> ends = {}) {
  Pending sent = context.send(rank, orders,
                              {Bytes(static_cast<std::int64_t>(ends.size() * sizeof(End))),
                               reinterpret_cast<std::byte*>(ends.data())},
                              note_of(what));
  context.wait(sent);
}

std::vector<double> receive_results(Context& context, Rank rank, std::size_t count) {
  std::vector<double> values(count);
  Pending pending = context.receive(rank, results,
                                    {Bytes(static_cast<std::int64_t>(count * sizeof(double))),
                                     reinterpret_cast<std::byte*>(values.data())});
  context.wait(pending);
  return values;
}

void send_results(Context& context, std::vector<double> values) {
  if (values.empty()) return;
  Pending sent = context.send(0, results,
                              {Bytes(static_cast<std::int64_t>(values.size() * sizeof(double))),
                               reinterpret_cast<std::byte*>(values.data())});
  context.wait(sent);
}

}  // namespace

TrafficBench::~TrafficBench() {
  for (Rank rank = 1; rank < context_.world_size(); ++rank) order(context_, rank, {Task::end, 0, 0.0});
}

std::vector<double> TrafficBench::rates(const discovery::Trial& trial) {
  std::vector<std::vector<End>> ends(static_cast<std::size_t>(context_.world_size()));
  for (std::size_t i = 0; i < trial.flows.size(); ++i) {
    const auto& flow = trial.flows[i];
    for (const bool sends : {true, false}) {
      auto& own = ends[static_cast<std::size_t>(sends ? flow.from : flow.to)];
      own.push_back({static_cast<std::int32_t>(i), sends ? flow.to : flow.from, sends ? 1 : 0, flow.in_flight,
                     flow.chunk.count(), flow.most.count()});
      TANDEM_CHECK(own.size() <= most_ends, "flows of a rank", own.size());
    }
  }
  for (Rank rank = 1; rank < context_.world_size(); ++rank)
    if (const auto& own = ends[static_cast<std::size_t>(rank)]; !own.empty())
      order(context_, rank, {Task::flows, static_cast<std::int32_t>(own.size()), trial.duration.count()},
            own);
  std::vector<double> rates(trial.flows.size());
  for (Rank rank = 0; rank < context_.world_size(); ++rank) {
    const auto& own = ends[static_cast<std::size_t>(rank)];
    std::vector<std::size_t> received;
    for (const End& end : own)
      if (end.sends == 0) received.push_back(static_cast<std::size_t>(end.number));
    if (rank == 0 && !own.empty()) {
      const auto measured = Flows(context_, own, trial.duration).run();
      for (std::size_t i = 0; i < received.size(); ++i) rates[received[i]] = measured[i];
    } else if (!received.empty()) {
      const auto measured = receive_results(context_, rank, received.size());
      for (std::size_t i = 0; i < received.size(); ++i) rates[received[i]] = measured[i];
    }
  }
  return rates;
}

Seconds TrafficBench::latency(int from, int to) {
  if (from != 0) order(context_, from, {Task::measure_latency, to, 0.0});
  if (to != 0) order(context_, to, {Task::answer_latency, from, 0.0});
  if (from == 0) return Seconds(one_way_s(context_, to, true));
  if (to == 0) one_way_s(context_, from, false);
  return Seconds(receive_results(context_, from, 1).front());
}

void serve_traffic(Context& context) {
  std::vector<End> ends(most_ends);
  for (;;) {
    Pending pending = context.receive(0, orders,
                                      {Bytes(static_cast<std::int64_t>(ends.size() * sizeof(End))),
                                       reinterpret_cast<std::byte*>(ends.data())});
    const Note note = context.wait(pending).note;
    Order what;
    std::memcpy(&what, note.bytes.data(), sizeof(what));
    switch (what.task) {
      case Task::flows: {
        const std::vector<End> own(ends.begin(), ends.begin() + what.count);
        send_results(context, Flows(context, own, Seconds(what.duration_s)).run());
        break;
      }
      case Task::measure_latency:
        send_results(context, {one_way_s(context, what.count, true)});
        break;
      case Task::answer_latency:
        one_way_s(context, what.count, false);
        break;
      case Task::end:
        return;
    }
  }
}

}  // namespace tandem
