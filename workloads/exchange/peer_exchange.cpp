// Exchange of whole models between workers directly. It has two forms. All members start the exchange and
// send each other their models (D-PSGD); or one worker calls another one, which continues computing, and both
// take the mean of their models (AD-PSGD). If workers run at different speeds, the first worker counts the
// steps of all and notifies them when the job ends.
#include <algorithm>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "workloads/exchange/exchange.hpp"
#include "workloads/exchange/peer_model.hpp"
#include "workloads/job/plan/round_counter.hpp"
#include "workloads/protocol.hpp"

namespace tandem {
namespace {

class PeerExchange : public Exchange {
 public:
  PeerExchange(const Roster& roster, const ExchangePlan& plan, const StopRule& stop, Context& context,
               Replica& replica, const sync::Neighbours& neighbours)
      : plan_(plan),
        stop_(stop),
        context_(context),
        replica_(replica),
        workers_(roster.workers()),
        first_(roster.first_worker()),
        self_(roster.assignment(context.rank()).index),
        neighbours_(neighbours),
        same_pace_(!plan.is_timing_driven()),
        steps_(static_cast<int>(workers_.size())),
        model_(replica, neighbours.incoming.size()),
        replies_(neighbours.incoming.size()) {
    for (std::size_t caller = 0; caller < neighbours_.incoming.size(); ++caller) {
      inbox_.emplace_back();
      listen_to_caller(caller);
    }
    if (!same_pace_ && is_first())
      for (const Rank other : others()) inbox_.push_back(protocol::receive<"counts">(context_, other));
    if (!same_pace_ && !is_first()) inbox_.push_back(protocol::receive<"ends">(context_, first_));
    inbox_.emplace_back();
  }

  void begin(const sync::Exchange& exchange) override {
    TANDEM_CHECK(exchange.payload == sync::Payload::model, "peers exchange models");
    const auto members =
        exchange.members.empty() ? plan_.all_workers() : std::span<const int>(exchange.members);
    place_ = static_cast<std::size_t>(std::ranges::find(members, self_) - members.begin());
    model_.compute(context_, 1, model_.begin());
    std::size_t index = 0;
    for (const int member : members) {
      if (member == self_) continue;
      const Rank rank = rank_of(member);
      const bool calls = std::ranges::binary_search(neighbours_.outgoing, member);
      receives_.push_back(protocol::receive<"models">(context_, rank, model_.arrival(index++)));
      sends_.push_back(calls ? protocol::send<"calls">(context_, rank, protocol::Call{}, model_.begun())
                             : protocol::send<"models">(context_, rank, model_.begun()));
      bytes_sent_ += model_.begun().size.count();
    }
  }

  // The whole model was sent when the exchange began.
  void bucket_ready(int, const protocol::Push&) override {}

  Completion wait_progressing(Pending& until) override {
    if (inbox_.size() == 1) return context_.wait(until);
    inbox_.back() = std::move(until);
    while (true) {
      const Completion done = context_.wait_any(inbox_);
      serve(done);
      if (inbox_.back().empty()) return done;
    }
  }

  ExchangeResult finish() override {
    const std::size_t others = receives_.size();
    for (auto* operations : {&receives_, &sends_}) {
      for (Pending& operation : *operations) wait_progressing(operation);
      operations->clear();
    }
    if (others > 0) model_.compute(context_, others, model_.mix(others, place_));
    count_own_step();
    take_over();
    bytes_received_ += bytes().count() * static_cast<std::int64_t>(others);
    return {.version = static_cast<int>(own_steps_),
            .stop = stopping_,
            .rounds = progress().rounds,
            .samples = progress().samples,
            .bytes_sent = std::exchange(bytes_sent_, 0),
            .bytes_received = std::exchange(bytes_received_, 0)};
  }

  void serialise(StateArchive& state) override {
    state.number("exchange.own_steps", own_steps_);
    std::int64_t steps = steps_.events();
    state.number("exchange.steps", steps);
    if (state.restores()) steps_.restore(steps);
    double elapsed = now().count();
    state.number("elapsed_s", elapsed);
    if (state.restores()) before_ = Seconds(elapsed);
  }

  void leave() override {
    if (!same_pace_) serve_until_all_have_left();
    for (auto* operations : {&sends_, &replies_, &notices_}) context_.wait_all(*operations);
    average_at_first();
  }

 private:
  Rank rank_of(int worker) const { return workers_[static_cast<std::size_t>(worker)]; }
  /// The first worker reports progress and, if workers run at different speeds, counts the steps of all.
  bool is_first() const { return context_.rank() == first_; }
  /// All but the first worker.
  std::span<const Rank> others() const { return workers_.subspan(1); }
  Bytes bytes() const { return replica_.description().bytes(); }

  // ---- Requests of other workers ---- `inbox_`: each caller's next call; then on the first worker the next
  // count of each other one, and on the others the end of the job; and last the operation that
  // wait_progressing waits for, so that requests are handled first.

  void listen_to_caller(std::size_t caller) {
    inbox_[caller] =
        protocol::receive<"calls">(context_, rank_of(neighbours_.incoming[caller]), model_.call(caller));
  }

  void serve(const Completion& arrived) {
    const std::size_t callers = neighbours_.incoming.size();
    if (arrived.index + 1 == inbox_.size() || protocol::as<protocol::Leave>(arrived.note)) return;
    if (arrived.index < callers) {
      answer(arrived.index);
    } else if (is_first()) {
      inbox_[arrived.index] = protocol::receive<"counts">(context_, workers_[arrived.index - callers + 1]);
      count_step();
    } else {
      stopping_ = true;
    }
  }

  void serve_until_all_have_left() {
    model_.compute(context_, 1, model_.begin());
    for (const int other : neighbours_.outgoing)
      sends_.push_back(protocol::send<"calls">(context_, rank_of(other), protocol::Leave{}));
    if (!is_first()) notify_first(protocol::Leave{});
    while (std::ranges::any_of(inbox_, [](const Pending& pending) { return !pending.empty(); }))
      serve(context_.wait_any(inbox_));
    take_over();
  }

  /// The average is computed immediately, so that the next caller gets it. Its cost is work of this worker's
  /// device, which is awaited only at the end of the exchange.
  void answer(std::size_t caller) {
    // A worker calls again only after it has the reply, so this does not block.
    if (!replies_[caller].empty()) context_.wait(replies_[caller]);
    replies_[caller] =
        protocol::send<"models">(context_, rank_of(neighbours_.incoming[caller]), model_.reply(caller));
    model_.average_with(caller);
    averages_.push_back(context_.compute({.kind = Work::Kind::reduce, .bytes = bytes()}));
    bytes_sent_ += bytes().count();
    bytes_received_ += bytes().count();
    listen_to_caller(caller);
  }

  /// After this, no caller is served until the next exchange begins.
  void take_over() {
    context_.wait_all(averages_);
    averages_.clear();
    model_.compute(context_, 1, model_.take_over());
  }

  // ---- When the job ends ----

  Progress progress() const {
    return {.rounds = steps_.rounds(),
            .samples = steps_.events() * plan_.sync_setting().batch,
            .now = same_pace_ ? Seconds(0.0) : now()};
  }
  /// Since the job began, also where it was resumed.
  Seconds now() const { return before_ + context_.now(); }

  void count_own_step() {
    ++own_steps_;
    if (!same_pace_ && !is_first()) return notify_first(protocol::Stepped{});
    if (same_pace_) steps_.count(std::ssize(workers_) - 1);
    count_step();
  }

  void count_step() {
    steps_.count(1);
    if (is_first()) stop_.report(progress());
    if (!stopping_ && stop_.is_reached(progress())) end_job();
  }

  void end_job() override {
    if (std::exchange(stopping_, true) || same_pace_) return;
    for (const Rank other : others())
      notices_.push_back(protocol::send<"ends">(context_, other, protocol::End{}));
  }

  void notify_first(const protocol::NoteOf<"counts">& note) {
    for (Pending& before : notices_) wait_progressing(before);
    notices_.clear();
    notices_.push_back(protocol::send<"counts">(context_, first_, note));
  }

  /// The first worker's model becomes the mean of all.
  void average_at_first() {
    if (workers_.size() == 1) return;
    const Slice own = replica_.payload(sync::Payload::model, 0, replica_.description().elements());
    if (!is_first()) {
      Pending last = protocol::send<"last-models">(context_, first_, own);
      context_.wait(last);
      return;
    }
    const FloatArray received(replica_.device(), replica_.model().size());
    const Slice arrival{own.size, reinterpret_cast<std::byte*>(received.data())};
    for (const Rank other : others()) {
      Pending arriving = protocol::receive<"last-models">(context_, other, arrival);
      context_.wait(arriving);
      model_.compute(
          context_, 1, own.data == nullptr ? Kernel() : [&] {
            replica_.device().add(replica_.model().data(), received.data(), std::ssize(received.span()),
                                  1.0F);
          });
    }
    model_.compute(context_, 1,
                   replica_.adopt_sum(sync::Payload::model, static_cast<double>(workers_.size()), {}));
  }

  const ExchangePlan& plan_;
  const StopRule& stop_;
  Context& context_;
  Replica& replica_;
  std::span<const Rank> workers_;
  Rank first_;
  int self_;  ///< the index of this worker
  sync::Neighbours neighbours_;
  bool same_pace_;      ///< all workers take the same number of steps
  RoundCounter steps_;  ///< of all workers; only the first one knows them where paces differ
  PeerModel model_;
  std::size_t place_ = 0;  ///< of this worker among the members of the exchange in progress
  std::vector<Pending> inbox_;
  std::vector<Pending> receives_;
  std::vector<Pending> sends_;
  std::vector<Pending> replies_;   ///< by caller
  std::vector<Pending> averages_;  ///< that this worker's device still has to compute
  std::vector<Pending> notices_;   ///< sent to the first worker, or by it
  Seconds before_{};               ///< how long the job had run before it was resumed
  std::int64_t own_steps_ = 0;
  bool stopping_ = false;
  std::int64_t bytes_sent_ = 0;
  std::int64_t bytes_received_ = 0;
};

}  // namespace

std::unique_ptr<Exchange> make_peer_exchange(const Roster& roster, const ExchangePlan& plan,
                                             const StopRule& stop, Context& context, Replica& replica,
                                             const sync::Neighbours& neighbours) {
  return std::make_unique<PeerExchange>(roster, plan, stop, context, replica, neighbours);
}

}  // namespace tandem
