#include "workloads/priced/prediction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "policies/prices/order_statistics.hpp"
#include "policies/prices/step.hpp"
#include "policies/prices/throughput.hpp"
#include "policies/vocabulary/check.hpp"
#include "workloads/priced/server_rounds.hpp"
#include "workloads/priced/worker_times.hpp"
#include "workloads/timing/library_all_reduce.hpp"

namespace tandem::priced {
namespace {

void check_form(const Job& job) {
  const ExchangePlan& plan = job.exchange();
  const sync::Factory& algorithm = plan.algorithm().make;
  if (plan.route() == sync::Route::peers) has_no_form("workers that exchange with peers (sync.algorithm)");
  const bool is_steady = algorithm.steady_steps != nullptr;
  if (!plan.has_common_rounds() && !algorithm.is_free_running && algorithm.quorum == nullptr && !is_steady)
    has_no_form("sync.algorithm " + plan.algorithm().name + ", whose decisions depend on the times of steps");
  if (algorithm.steps_per_round(plan.sync_setting().options) == 0 && !is_steady)
    has_no_form("sync.algorithm " + plan.algorithm().name + ", whose number of local steps varies");
  if (plan.may_pass_rounds())
    has_no_form("sync.algorithm " + plan.algorithm().name + ", where some workers pass a round");
  if (algorithm.is_free_running && plan.cancels_steps())
    has_no_form("sync.options.cancel of sync.algorithm " + plan.algorithm().name);
  if (plan.compression() != nullptr) has_no_form("sync.compression");
  if (job.data().from_storage()) has_no_form("data.source storage");
  if (plan.exchanges_by_key()) has_no_form("sync.exchange by-key");
  if (plan.first_server_decides()) has_no_form("sync.decides first-server");
  if (plan.overlaps_forward()) has_no_form("sync.overlap both");
  const Experiment& experiment = job.spec().experiment;
  if (experiment.physics.network != NetworkSource::platform) has_no_form("physics.network profile");
  if (experiment.physics.noise == NoiseSource::profile) has_no_form("physics.noise profile");
  if (experiment.physics.overlap_slowdown > 1.0) has_no_form("physics.overlap_slowdown");
  if (experiment.run.slowdown_probability > 0.0) has_no_form("run.slowdown_probability");
}

/// By more than rounding, also that of bytes.
bool is_longer(Seconds one, Seconds other) { return one > other * (1 + 1e-6); }

class Predictor {
 public:
  Predictor(const Job& job, const platforms::Network& network, bool counts_updates)
      : job_(job),
        plan_(job.exchange()),
        network_(network),
        counts_updates_(counts_updates || job.roster().steward()),
        classes_(classes_of_workers(job)) {
    found_.workers = found_.awaited = static_cast<int>(job.roster().first_workers().size());
    if (algorithm().steady_steps != nullptr) fill_rounds();
    if (algorithm().quorum != nullptr && !algorithm().is_free_running) leave_out_late();
    for (const WorkerTimes& of : classes_)
      if (!of.is_late && (slowest_ == nullptr || of.computing() > slowest_->computing())) slowest_ = &of;
  }

  Prediction predict() {
    if (algorithm().is_free_running)
      without_rounds();
    else if (plan_.route() == sync::Route::server)
      over_servers();
    else
      over_all_reduce();
    if (algorithm().steady_steps != nullptr) {
      found_.certainty = Certainty::approximation;
      found_.origin += "; faster workers take as many local steps as fit into those of the slowest";
    }
    wait_for_launches();
    if (found_.in_rounds) wait_for_steps();
    if (found_.stops_late) check_stops();
    if (found_.in_rounds && !found_.waits_for_all && !counts_updates_) count_pushes();
    finish();
    return std::move(found_);
  }

 private:
  const sync::Factory& algorithm() const { return plan_.algorithm().make; }

  // ---- Unequal workers ----

  /// Faster workers take local steps while the slowest one sets the pace.
  void fill_rounds() {
    const bool over_servers = plan_.route() == sync::Route::server;
    std::vector<sync::WorkerPace> paces;
    std::vector<WorkerTimes> of_paces;
    {
      // Equal devices on unequal links do not take equally many steps.
      const ServerRounds rounds(job_, network_, classes_);
      for (const WorkerTimes& of : classes_) {
        std::map<std::size_t, std::vector<int>> by_place;
        for (const int worker : of.workers)
          by_place[over_servers ? rounds.place_of(worker) : 0].push_back(worker);
        std::map<std::pair<Seconds, Seconds>, std::vector<int>> by_link;
        for (auto& [place, workers] : by_place) {
          const int first = workers.front();
          std::vector<int>& same =
              by_link[over_servers ? std::pair(rounds.alone(first, true), rounds.alone(first, false))
                                   : std::pair(Seconds(0.0), Seconds(0.0))];
          same.insert(same.end(), workers.begin(), workers.end());
        }
        for (auto& [times, workers] : by_link) {
          std::ranges::sort(workers);
          paces.push_back({of.step(), of.change + times.first, times.second + of.update_after});
          of_paces.push_back(of);
          of_paces.back().host =
              job_.roster().host_of(job_.roster().workers()[static_cast<std::size_t>(workers.front())]);
          of_paces.back().workers = std::move(workers);
        }
      }
    }
    const std::vector<int> steps = algorithm().steady_steps(plan_.sync_setting().options, paces);
    if (steps.empty())
      has_no_form("sync.algorithm " + plan_.algorithm().name +
                  " where workers that differ are equally slow: which one sets the pace is open");
    for (std::size_t i = 0; i < steps.size(); ++i) of_paces[i].steps = steps[i];
    classes_ = std::move(of_paces);
  }

  /// Of workers whose times do not vary, the fastest ones end each round: one that is late begins its next
  /// step later than they do.
  void leave_out_late() {
    found_.awaited = static_cast<int>(algorithm().quorum(plan_.sync_setting()));
    found_.waits_for_all = found_.awaited == found_.workers;
    std::vector<WorkerTimes*> order;
    for (WorkerTimes& of : classes_) order.push_back(&of);
    std::ranges::stable_sort(order, {}, [](const WorkerTimes* of) { return of->computing(); });
    int workers = 0;
    for (WorkerTimes* const of : order) {
      of->is_late = workers >= found_.awaited;
      workers += static_cast<int>(of->workers.size());
      found_.stops_late = found_.stops_late || (of->is_late && plan_.cancels_steps());
    }
  }

  // ---- All-reduce ----

  void over_all_reduce() {
    const Seconds computing = slowest_->computing(), update = last_update();
    const bool may_overlap = plan_.overlaps_backward() && plan_.payload() == sync::Payload::gradient;
    summed_elements_ = plan_.summed_elements();
    std::vector<prices::Bucket> sums;
    const auto known = times_of_sums();
    for (std::size_t bucket = 0; bucket < job_.model().buckets.size(); ++bucket) {
      sums.push_back(known.at(kind_of(bucket)));
      for (const WorkerTimes& of : classes_)
        sums.back().ready = std::max(sums.back().ready, may_overlap ? of.ready()[bucket] : of.computing());
    }
    const Seconds buffers = time_of_buffers();
    found_.fastest = buffers + prices::end_of_buckets(sums, computing) + update;
    const bool waits = sums_wait_for_device();
    for (prices::Bucket& sum : sums) {
      sum.busy.reset();
      if (waits) sum.ready = computing;
    }
    found_.round = found_.slowest = buffers + prices::end_of_buckets(sums, computing) + update;
    found_.certainty = found_.fastest < found_.round ? Certainty::bound : Certainty::exact;
    found_.origin = fmt::format(
        "{}{}", waits ? "sums wait for the backward pass on processors, at most until its end; " : "",
        "a bucket follows the one before");
    part("buffers of the first worker", buffers);
    part("computing", computing);
    part("all-reduce", found_.round - buffers - computing - update);
    part("update of the workers", update);
    limit_by_computing();
    for (prices::Bucket& sum : sums) sum.ready = Seconds(0.0);
    limit("the all-reduce", buffers + prices::end_of_buckets(sums, Seconds(0.0)), Limit::Of::network);
    count_bytes_of_sums();
  }

  using Sum = std::pair<std::string, std::int64_t>;  ///< collective and elements
  /// Many buckets are of one kind.
  Sum kind_of(std::size_t bucket) const {
    return {plan_.all_reduce()->collectives[bucket], summed_elements_[bucket]};
  }

  /// The times of the sums of all kinds of buckets, which are ready at 0. A tree does not use all links all
  /// the time.
  std::map<Sum, prices::Bucket> times_of_sums() const {
    const auto has_idle_links = [](const std::string& name) {
      return name != native_all_reduce && name != ring_collective;
    };
    std::map<std::string, std::set<std::int64_t>> sizes;
    for (std::size_t bucket = 0; bucket < job_.model().buckets.size(); ++bucket) {
      const auto [name, elements] = kind_of(bucket);
      for (const std::string& of : has_idle_links(name) ? std::vector<std::string>{name, ring_collective}
                                                        : std::vector<std::string>{name})
        sizes[of].insert({elements, latency_elements(elements)});
    }
    std::map<std::string, std::map<std::int64_t, Seconds>> times;
    for (const auto& [name, of] : sizes) times[name] = prices_of(name, of);
    const auto moving = [&](const std::string& name, std::int64_t elements) {
      const auto& of = times.at(name);
      // The library makes one sum after the other, each with its latency.
      if (name == native_all_reduce) return std::pair(of.at(elements), Seconds(0.0));
      const Seconds latency = std::min(of.at(elements), of.at(latency_elements(elements)));
      return std::pair(of.at(elements) - latency, latency);
    };
    std::map<Sum, prices::Bucket> sums;
    for (std::size_t bucket = 0; bucket < job_.model().buckets.size(); ++bucket) {
      const auto [sum, is_new] = sums.try_emplace(kind_of(bucket));
      if (!is_new) continue;
      const auto& [name, elements] = sum->first;
      std::tie(sum->second.exchange, sum->second.latency) = moving(name, elements);
      if (has_idle_links(name))
        sum->second.busy = std::min(sum->second.exchange, moving(ring_collective, elements).first);
    }
    return sums;
  }

  std::int64_t elements_of_buffers() const { return (plan_.buffers().count() + 3) / 4; }
  /// As the exchange sums them.
  Seconds time_of_buffers() const {
    const std::int64_t elements = elements_of_buffers();
    if (elements == 0) return Seconds(0);
    return prices_of(kind_of(job_.model().buckets.size() - 1).first, {elements}).at(elements);
  }

  /// A sum that moves so little takes its latencies alone.
  std::int64_t latency_elements(std::int64_t elements) const {
    return std::min<std::int64_t>(elements, found_.workers);
  }

  /// By elements, with all latencies: as the schedule does it, priced on the network; a library's, as
  /// simulations price it.
  std::map<std::int64_t, Seconds> prices_of(const std::string& name,
                                            const std::set<std::int64_t>& sizes) const {
    std::map<std::int64_t, Seconds> found;
    for (const std::int64_t elements : sizes) found[elements] = Seconds(0.0);
    if (found_.workers == 1) return found;
    if (name == native_all_reduce) {
      LibraryAllReduceCost library(job_, network_, 0);
      for (auto& [elements, time] : found)
        time = library.next(job_.roster().first_workers(), Bytes(elements * 4)).alone;
      return found;
    }
    AllReduceSetting setting =
        all_reduce_setting(job_, job_.roster().first_workers(), {sizes.begin(), sizes.end()});
    setting.collective = name;
    const std::vector<Seconds> alone = prices_alone(setting, network_);
    auto next = alone.begin();
    for (auto& [elements, time] : found) time = *next++;
    return found;
  }

  /// A processor does one thing at a time.
  bool sums_wait_for_device() const {
    const auto& collectives = plan_.all_reduce()->collectives;
    return plan_.overlaps_backward() &&
           std::ranges::any_of(job_.roster().first_workers(),
                               [&](Rank rank) { return !job_.devices().has_second_queue(rank); }) &&
           std::ranges::any_of(collectives, [](const auto& name) { return name != native_all_reduce; });
  }

  Seconds last_update() const {
    Seconds most{0.0};
    for (const WorkerTimes& of : classes_) most = std::max(most, of.update_after);
    return most;
  }

  // ---- Servers ----

  void over_servers() {
    const ServerRounds rounds(job_, network_, classes_);
    const ServerRounds::Round round = rounds.steady();
    found_.round = found_.fastest = found_.slowest = round.duration();
    found_.certainty = Certainty::approximation;
    found_.origin = "messages share links as a fluid";
    // Workers with early replies compute and push while a server still works for others.
    const Seconds servers = rounds.slowest_update(rounds.awaited());
    if (job_.devices().server_cost(job_.roster().servers().front()) != nullptr)
      found_.fastest = std::min(found_.round, std::max(slowest_->computing(), servers));
    const Seconds own = slowest_->computing() + servers + last_update();
    if (algorithm().steady_steps != nullptr) {
      // Numbers of steps follow from measured exchanges, which vary with the order of pushes.
      const int last = slowest_->workers.front();
      found_.fastest = std::min(found_.round, own + rounds.alone(last, true) + rounds.alone(last, false));
    }
    // Late workers are answered with the others, although they have no gradient.
    const double all = found_.workers / static_cast<double>(rounds.members());
    const Seconds late_replies =
        found_.stops_late ? rounds.busiest(false, true).first * (all - 1.0) : Seconds(0.0);
    found_.round += late_replies;
    // Late pushes share the links, too.
    if (algorithm().steady_steps != nullptr || !found_.waits_for_all)
      found_.slowest =
          std::max(found_.round, own + (rounds.busiest(true).first + rounds.busiest(false).first) * all);
    if (!found_.waits_for_all)
      found_.origin +=
          fmt::format("; a round ends with the first {} of {} gradients{}", found_.awaited, found_.workers,
                      found_.stops_late ? ", and the others stop"
                      : std::ranges::any_of(classes_, &WorkerTimes::is_late)
                          ? ", and messages of the others slow nobody down"
                          : "");
    count_bytes_of_shards();
    part("computing (" + round.last + ")", round.computing);
    part("its push", round.push);
    part("update of the servers", round.update);
    part("its reply", round.reply);
    part("replies to late workers", late_replies);
    part("its own update", round.own_update);
    limit_by_computing();
    limit_by_servers(rounds, servers, false);
  }

  /// Each worker computes, pushes and is answered at once.
  void without_rounds() {
    found_.in_rounds = found_.waits_for_all = false;
    const ServerRounds rounds(job_, network_, classes_);
    const double of_one = 1.0 / found_.workers;
    const auto quorum =
        algorithm().quorum == nullptr ? 1.0 : static_cast<double>(algorithm().quorum(plan_.sync_setting()));
    // A reply without a newer model is without a model. Of the gradients of a model, the last one is answered
    // with the next model; and so is the late one that each other worker computes meanwhile.
    with_model_ = found_.workers / (quorum + found_.workers - 1.0);
    const Seconds push = rounds.busiest(true, true).first * of_one, update = rounds.update_demand(),
                  reply = rounds.busiest(false, true).first * of_one;
    // Several threads and cores are one that is so much faster, and a delay (Seidmann's approximation).
    const Seconds delay = rounds.slowest_update(1) - update;
    // What a worker's own link takes longer than that of the servers. A push leaves during its step.
    const auto classes_with = [&](double with_model, Seconds least) {
      std::vector<prices::QueueClass> classes;
      for (const WorkerTimes& of : classes_) {
        const int worker = of.workers.front();
        const Seconds own_link = std::max(least, rounds.push_alone(worker) - push) +
                                 (rounds.alone(worker, false) - reply) * with_model;
        classes.push_back(
            {static_cast<int>(of.workers.size()), std::max(Seconds(0.0), of.computing() + own_link + delay)});
      }
      return classes;
    };
    const auto step = [&](const std::vector<prices::QueueClass>& classes, double with_model,
                          double variation) {
      std::vector<Seconds> service = {push, update, reply * with_model};
      // Pushes and replies in one channel are one queue.
      const Seconds both = rounds.busiest_of_both(with_model, true).first * of_one;
      if (is_longer(both, std::max(push, reply * with_model))) service = {both, update};
      return Seconds(found_.workers / prices::throughput(classes, service, variation).steps_per_s);
    };
    const std::vector<prices::QueueClass> classes = classes_with(with_model_, Seconds(0.0));
    found_.round = step(classes, with_model_, 1.0);
    // Nothing varies but what a host states; the servers' link carries pushes during steps, too; and only the
    // last gradient of a model is answered with the next one.
    const ServerCost* const stated = job_.devices().server_cost(job_.roster().servers().front());
    const double least_models = 1.0 / quorum;
    found_.fastest = std::min(found_.round, step(classes_with(least_models, Seconds(0.0) - push),
                                                 least_models, stated == nullptr ? 0.0 : stated->variation));
    Seconds computing{0.0};
    for (const WorkerTimes& of : classes_)
      computing += of.computing() * (static_cast<double>(of.workers.size()) * of_one);
    found_.slowest = slowest_->computing() + rounds.busiest(true).first + update * found_.workers +
                     rounds.busiest(false).first;
    found_.slowest = std::max(found_.slowest, found_.round);
    found_.certainty = Certainty::approximation;
    count_bytes_of_shards();
    found_.origin =
        "a queue with random times: from no worker ever waiting for another to all of them in step";
    if (with_model_ < 1.0) found_.origin += "; replies between updates are without the model";
    part("computing, in the mean", computing);
    part("exchange, with waiting for other workers", found_.round - computing);
    double alone = 0.0;
    for (const auto& of : classes)
      alone += of.count / (of.think + push + update + reply * with_model_).count();
    limit("each worker's own computing and exchange", Seconds(found_.workers / alone));
    limit_by_servers(rounds, update * found_.workers, true);
  }

  // ---- Launches ----

  /// The processor launches the rest of a step during the exchange.
  void wait_for_launches() {
    Seconds launched{0.0};
    for (const WorkerTimes& of : classes_)
      if (!of.is_late) launched = std::max(launched, of.launched);
    part("remaining launches of the processor", launched - found_.round);
    limit("the processor that launches a step", launched);
    for (Seconds* const time : {&found_.round, &found_.fastest, &found_.slowest})
      *time = std::max(*time, launched);
  }

  // ---- Steps that vary ----

  /// Every worker draws its own time of a round; the others wait for the slowest one, or for as many as the
  /// algorithm says, as if all began the round together. Left out: that their messages are then spread out,
  /// and that those that finish a late step first make the round longer.
  void wait_for_steps() {
    const Experiment& experiment = job_.spec().experiment;
    if (experiment.physics.noise != NoiseSource::spread || found_.workers == 1) return;
    std::vector<prices::SpreadClass> spread;
    for (const WorkerTimes& of : classes_) {
      const Rank rank = job_.roster().workers()[static_cast<std::size_t>(of.workers.front())];
      const double given = experiment.physics.spread;
      const double of_step = given > 0.0 ? given : job_.devices().spread_of(rank);
      const double variation = of_step / std::sqrt(static_cast<double>(of.steps));
      const double sigma = std::sqrt(std::log1p(variation * variation));
      const Seconds median = of.computing() * std::exp(-sigma * sigma / 2);
      spread.push_back(
          {sigma > 0.0 ? prices::Spread::log_normal(median, sigma) : prices::Spread::constant(of.computing()),
           static_cast<int>(of.workers.size())});
    }
    found_.certainty = Certainty::approximation;
    const Seconds all = prices::mean_of_slowest(spread) - slowest_->computing();
    const Seconds waiting =
        found_.waits_for_all ? all : prices::mean_of_first(spread, found_.awaited) - slowest_->computing();
    found_.round += waiting;
    found_.fastest += std::min(waiting, Seconds(0.0));
    found_.slowest += plan_.cancels_steps() ? waiting : std::max(waiting, all);
    found_.origin += fmt::format("; computing times vary, and each round waits for {} in the mean",
                                 found_.waits_for_all ? "the slowest worker" : "these workers");
    // Computing is the first part.
    if (waiting < Seconds(0.0)) found_.parts.front().time += waiting;
    part(found_.waits_for_all ? "waiting for the slowest step" : "waiting for so many steps", waiting);
  }

  /// A late step stops between the parts of its work, once in each round.
  void check_stops() const {
    for (const WorkerTimes& of : classes_) {
      if (!of.is_late) continue;
      const Seconds longest =
          std::max(of.load + of.forward + of.backward.front(), std::ranges::max(of.backward));
      if (longest > found_.round)
        has_no_form("sync.options.cancel where a part of a late step takes longer than a round");
    }
  }

  /// Without departures, rounds are counted by pushes.
  void count_pushes() {
    double pushes = 0.0;
    for (const WorkerTimes& of : classes_)
      pushes += static_cast<double>(of.workers.size()) * found_.steps_of(of);
    found_.updates_per_round = found_.workers / pushes;
    const double more = found_.updates_per_round - 1.0;
    part("until as many pushes, with late ones, as workers", found_.round * more);
    for (Seconds* const time : {&found_.round, &found_.fastest, &found_.slowest}) *time += *time * more;
    for (Limit& limit : found_.limits) limit.rounds_per_s /= found_.updates_per_round;
  }

  // ---- Results ----

  void count_bytes_of_shards() {
    std::int64_t bytes = 0;
    for (const auto& shard : plan_.shard_layout())
      for (const ShardPiece& piece : shard) bytes += piece.bytes().count();
    found_.bytes_sent = bytes * found_.workers;
    found_.bytes_received = std::llround(static_cast<double>(found_.bytes_sent) * with_model_);
  }

  /// A library's all-reduce is counted as a ring, which moves the fewest bytes.
  void count_bytes_of_sums() {
    std::map<Sum, collectives::Extent> known;
    const auto add = [&](std::size_t bucket, const Sum& kind) {
      const auto [all, is_new] = known.try_emplace(kind);
      const std::int64_t elements = all->first.second;
      const auto known_form = is_new ? sent_by_all(kind.first, elements) : std::nullopt;
      if (known_form) all->second.sent = all->second.received = *known_form;
      for (int self = 0; is_new && !known_form && self < found_.workers; ++self) {
        const auto schedule = plan_.group_of_all().schedule(bucket, self, elements);
        const std::int64_t as_ring = 2 * elements * (found_.workers - 1) / found_.workers;
        const auto extent = schedule ? collectives::extent_of(*schedule)
                                     : collectives::Extent{.sent = as_ring, .received = as_ring};
        all->second.sent += extent.sent;
        all->second.received += extent.received;
      }
      found_.bytes_sent += 4 * all->second.sent;
      found_.bytes_received += 4 * all->second.received;
    };
    const std::size_t count = job_.model().buckets.size();
    for (std::size_t bucket = 0; bucket < count; ++bucket) add(bucket, kind_of(bucket));
    if (elements_of_buffers() > 0) add(count - 1, {kind_of(count - 1).first, elements_of_buffers()});
  }

  /// Elements; none: the schedules of all workers say it.
  std::optional<std::int64_t> sent_by_all(const std::string& collective, std::int64_t elements) const {
    // In each round of a ring, the participants send all pieces.
    if (collective == ring_collective) return 2 * elements * (found_.workers - 1);
    if (found_.workers <= many_workers) return std::nullopt;
    if (collective == native_all_reduce) return sent_by_all(ring_collective, elements);
    const auto cost = collectives::cost_of_many(collectives::catalog().find(collective).make, found_.workers,
                                                elements, [](int, std::int64_t) { return Seconds(0.0); });
    return cost ? std::optional(cost->sent) : std::nullopt;
  }

  void part(std::string name, Seconds time) {
    if (time > Seconds(0.0)) found_.parts.push_back({std::move(name), time});
  }
  /// `round`: what a round takes if only this limits it.
  void limit(std::string name, Seconds round, Limit::Of of = Limit::Of::workers) {
    if (round > Seconds(0.0)) found_.limits.push_back({std::move(name), 1.0 / round.count(), of});
  }
  void limit_by_computing() {
    limit(fmt::format("computing ({}{})", slowest_->host, classes_.size() > 1 ? ", the slowest" : ""),
          slowest_->computing());
  }
  /// `servers`: their work in a round. Pre: what limits the workers is known.
  void limit_by_servers(const ServerRounds& rounds, Seconds servers, bool common) {
    Seconds links{0.0};
    const auto limit_by = [&](const std::pair<Seconds, std::string>& busiest, const std::string& of_all,
                              const char* messages) {
      const auto& [time, channel] = busiest;
      const bool is_of_server = found_.workers > 1 && of_all == channel;
      if (is_of_server) links = std::max(links, time);
      limit(fmt::format("link {}, by {}", channel, messages), time,
            is_of_server ? Limit::Of::servers : Limit::Of::network);
    };
    auto pushes = rounds.busiest(true, common), replies = rounds.busiest(false, common);
    replies.first = replies.first * with_model_;
    const auto both = rounds.busiest_of_both(with_model_, common);
    if (is_longer(both.first, std::max(pushes.first, replies.first)))
      limit_by(both, rounds.busiest_of_both(with_model_, true).second, "pushes and replies");
    // A link of both is not named twice.
    if (pushes.second != both.second || !is_longer(both.first, pushes.first))
      limit_by(pushes, rounds.busiest(true, true).second, "pushes");
    if (replies.second != both.second || !is_longer(both.first, replies.first))
      limit_by(replies, rounds.busiest(false, true).second, "replies");
    found_.unused_cores = rounds.unused_cores();
    limit("the work of the servers" + rounds.busiest_servers(), servers, Limit::Of::servers);
    count_servers_needed(rounds, links, servers);
  }

  /// Each has its part of the bytes, but all messages.
  void count_servers_needed(const ServerRounds& rounds, Seconds links, Seconds servers) {
    constexpr int most = 1024;
    double others = 0.0;
    for (const Limit& limit : found_.limits)
      if (limit.of != Limit::Of::servers && (others == 0.0 || limit.rounds_per_s < others))
        others = limit.rounds_per_s;
    if (others == 0.0 || std::max(links, servers).count() * others <= 1.0) return;
    const auto now = static_cast<int>(job_.roster().servers().size());
    for (int more = now + 1; more <= most; ++more) {
      const Seconds slowest =
          std::max(links * (static_cast<double>(now) / more), rounds.work_with(more, found_.in_rounds));
      if (slowest.count() * others > 1.0) continue;
      found_.servers_needed = more;
      return;
    }
    found_.more_servers_help = false;
  }

  void finish() {
    std::ranges::sort(found_.limits, {}, &Limit::rounds_per_s);
    double steps = 0.0;
    for (const WorkerTimes& of : classes_)
      steps += static_cast<double>(of.workers.size()) * found_.steps_of(of);
    found_.steps_per_round = steps / found_.workers;
    found_.samples_per_step = job_.data().batch();
    const bool drops = found_.in_rounds && !found_.waits_for_all;
    found_.samples_per_s = static_cast<double>(found_.samples_per_step) *
                           (drops ? found_.awaited * found_.updates_per_round : steps) / found_.round.count();
    const Experiment::Stop& stop = job_.spec().experiment.stop;
    auto rounds = static_cast<double>(stop.rounds);
    if (stop.epochs > 0) {
      // Of all samples, also those whose gradients are dropped.
      const double of_epochs = std::ceil(stop.epochs * static_cast<double>(job_.data().info().train_samples) /
                                         found_.samples_per_round());
      rounds = rounds > 0 ? std::min(rounds, of_epochs) : of_epochs;
    }
    found_.rounds = static_cast<std::int64_t>(rounds);
    found_.makespan = found_.round * rounds;
    found_.classes = std::move(classes_);
  }

  const Job& job_;
  const ExchangePlan& plan_;
  const platforms::Network& network_;
  bool counts_updates_;
  std::vector<WorkerTimes> classes_;
  const WorkerTimes* slowest_ = nullptr;       ///< class
  std::vector<std::int64_t> summed_elements_;  ///< by bucket, of an all-reduce
  double with_model_ = 1.0;                    ///< share of the replies
  Prediction found_ = {};
};

}  // namespace

double Prediction::steps_of(const WorkerTimes& of) const {
  const double all = updates_per_round * of.steps;
  return of.is_late && !stops_late ? std::min(all, round / (of.computing() + of.update_after)) : all;
}

void has_no_form(const std::string& what) {
  throw ConfigError("no closed form for " + what +
                    "; `tandem simulate --fidelity transfers` predicts this job");
}

namespace {

std::vector<std::string> hosts_of(const Job& job, std::initializer_list<std::span<const Rank>> all) {
  std::vector<std::string> hosts;
  std::set<std::string> known;
  for (const std::span<const Rank> ranks : all)
    for (const Rank rank : ranks)
      if (known.insert(job.roster().host_of(rank)).second) hosts.push_back(job.roster().host_of(rank));
  return hosts;
}

}  // namespace

std::vector<std::string> hosts_of_prediction(const Job& job) {
  return hosts_of(job, {job.roster().workers(), job.roster().servers()});
}

std::vector<std::string> hubs_of_prediction(const Job& job) {
  return hosts_of(job, {job.roster().servers()});
}

Prediction predict(const Job& job, const platforms::Network& network, bool counts_updates) {
  check_form(job);
  return Predictor(job, network, counts_updates).predict();
}

}  // namespace tandem::priced
