// Exchange of whole models in rounds among workers that may depart and join: all members of an exchange send
// each other their models, and each takes the mean (D-PSGD). The mean at the end is one more exchange, among
// all.
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "workloads/exchange/exchange.hpp"
#include "workloads/exchange/peer_model.hpp"
#include "workloads/exchange/regrouping_rounds.hpp"
#include "workloads/protocol.hpp"

namespace tandem {
namespace {

class RegroupingPeers final : public RegroupingRounds {
 public:
  RegroupingPeers(const Roster& roster, const DataPlan& data, const StopRule& stop, Context& context,
                  Replica& replica, int incarnation)
      : RegroupingRounds(roster, data, stop, {}, context, replica, nullptr, incarnation),
        model_(replica, 0) {}

  void begin(const sync::Exchange& exchange) override {
    TANDEM_CHECK(exchange.payload == sync::Payload::model, "peers exchange models");
    model_.compute(context_, 1, model_.begin());
    open(exchange);
  }

  // The whole model was sent when the exchange began.
  void bucket_ready(int, const protocol::Push& push) override { samples_ = push.samples; }

  Completion wait_progressing(Pending& until) override {
    while (true) {
      const Completion done = wait_for(until);
      if (until.empty()) return done;
    }
  }

  void leave() override {
    if (rounds_.is_averaged()) return;
    averages_all_ = true;
    begin({.payload = sync::Payload::model});
    finish();
  }

 private:
  Bytes bytes() const { return replica_.description().bytes(); }

  void start() override {
    const auto members = exchanging();
    place_ = static_cast<std::size_t>(std::ranges::find(members, self_) - members.begin());
    for (const int member : members) {
      if (member == self_) continue;
      const Rank rank = workers_[static_cast<std::size_t>(member)];
      receives_.push_back(protocol::receive<"models">(context_, rank, model_.arrival(receives_.size())));
      sends_.push_back(protocol::send<"models">(context_, rank, model_.begun()));
    }
  }

  void give_up() override {
    for (auto* operations : {&receives_, &sends_}) {
      context_.wait_all(*operations);
      operations->clear();
    }
  }

  bool progress() override {
    for (auto* operations : {&receives_, &sends_}) {
      const auto open = std::ranges::find_if(*operations, [](const Pending& one) { return !one.empty(); });
      if (open == operations->end()) continue;
      wait_for(*open);
      return true;
    }
    return false;
  }

  /// Waits for it, or for a note of the steward.
  Completion wait_for(Pending& until) {
    regrouping_.take_up_change();
    std::array<Pending, 2> awaited = {std::move(until), std::move(regrouping_.next())};
    const Completion done = context_.wait_any(awaited);
    until = std::move(awaited[0]);
    regrouping_.next() = std::move(awaited[1]);
    if (done.index == 1) regrouping_.on_message(done.note);
    return done;
  }

  ExchangeResult complete() override {
    const std::size_t others = receives_.size();
    receives_.clear();
    sends_.clear();
    if (others > 0) model_.compute(context_, others, model_.mix(others, place_));
    model_.compute(context_, 1, model_.take_over());
    if (averages_all_)
      rounds_.note_averaged();
    else
      count_round(std::vector<std::int64_t>(workers_.size(), samples_), rounds_.version() + 1, {});
    ExchangeResult result = state_of_job();
    result.bytes_sent = result.bytes_received = bytes().count() * static_cast<std::int64_t>(others);
    return result;
  }

  PeerModel model_;
  std::size_t place_ = 0;  ///< of this worker among the members of the exchange in progress
  std::vector<Pending> receives_;
  std::vector<Pending> sends_;
  std::int64_t samples_ = 0;  ///< of this worker in the exchange
};

}  // namespace

std::unique_ptr<Exchange> make_regrouping_peers(const Roster& roster, const DataPlan& data,
                                                const StopRule& stop, Context& context, Replica& replica,
                                                int incarnation) {
  return std::make_unique<RegroupingPeers>(roster, data, stop, context, replica, incarnation);
}

}  // namespace tandem
