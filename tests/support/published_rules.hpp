// The update that is published for each synchronisation algorithm, written out, and a small job on which it
// acts often: what a re-execution (reexecution.hpp) of jobs in both worlds carries out. The catalogue has the
// papers. A row without options uses the defaults.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "policies/vocabulary/options.hpp"
#include "tests/support/reexecution.hpp"

namespace tandem::testing {

/// The job: workers at different speeds, which take steps of this size on batches of this many samples.
struct PublishedJob {
  static constexpr int workers = 4;
  static constexpr int batch = 8;
  static constexpr int rounds = 6;
  static constexpr double rate = 0.05;
};

struct PublishedRule {
  std::string algorithm;
  std::string formula;  ///< x: model, g: weighted mean gradient, c: weighted mean change; s: scale
  std::map<std::string, OptionValue> options = {};
  Rule rule = {};
  /// The formula is not that of SGD or of a mean of changes, whose result must therefore be another one.
  bool is_special = false;
};
inline void PrintTo(const PublishedRule& value, std::ostream* out) {
  *out << value.algorithm << ": " << value.formula;
}

inline Rule sgd_step() {
  return {.update = [](Element& e) { e.x -= PublishedJob::rate * e.scale * e.mean; }};
}
inline Rule mean_change() {
  return {.update = [](Element& e) { e.x += e.scale * e.mean; }, .rate = PublishedJob::rate};
}
/// The correction of a gradient by `lambda` g g (x - x_old) is of the same kind in all forms of DC-ASGD.
inline double corrected(double g, double lambda, double moved) { return g + lambda * g * g * moved; }

inline std::vector<PublishedRule> rules_of_gradients() {
  constexpr double rate = PublishedJob::rate;
  const std::string sgd = "x = x - rate s g";
  const auto dc_asgd = [](Element& e) { e.x -= rate * corrected(e.mean, 200.0, e.x - e.sent); };
  const auto dc_asgd_adaptive = [](Element& e) {
    e.v = 0.95 * e.v + (1.0 - 0.95) * e.mean * e.mean;
    e.x -= rate * corrected(e.mean, 2.0 / std::sqrt(e.v + 1e-7), e.x - e.sent);
  };
  // MXNet's gradients are sums over a batch, and its backup is that of the last update.
  const auto dc_asgd_mxnet = [](Element& e) {
    e.x -= rate * corrected(e.mean, 25.0 * PublishedJob::batch, e.x - e.previous);
  };
  return {
      {"bsp", sgd, {}, sgd_step()},
      {"k-sync", sgd, {{"k", std::int64_t{2}}}, sgd_step()},
      {"k-batch-sync", sgd, {{"k", std::int64_t{5}}}, sgd_step()},
      {"rennala", sgd, {{"b", std::int64_t{3}}}, sgd_step()},
      {"lb-bsp", sgd, {{"every", std::int64_t{1}}}, sgd_step()},
      {"sync-switch", sgd, {{"fraction", 0.5}, {"scale_after", 0.5}}, sgd_step()},
      {"asp", sgd, {}, sgd_step()},
      {"ssp", sgd, {{"staleness", std::int64_t{1}}, {"average", true}}, sgd_step()},
      {"dssp", sgd, {{"lower", std::int64_t{1}}, {"upper", std::int64_t{3}}, {"average", true}}, sgd_step()},
      {"dynsgd", sgd, {}, sgd_step()},
      {"ringmaster", sgd, {{"r", std::int64_t{2}}}, sgd_step()},
      {"dc-asgd",
       "x = x - rate (g + lambda g g (x - x_sent))",
       {{"lambda", 200.0}},
       {.update = dc_asgd},
       true},
      {"dc-asgd-adaptive",
       "v = m v + (1 - m) g g; x = x - rate (g + lambda / sqrt(v + 1e-7) g g (x - x_sent))",
       {{"lambda", 2.0}},
       {.update = dc_asgd_adaptive},
       true},
      {"dc-asgd-mxnet",
       "x = x - rate (g + batch lambda g g (x - x_previous))",
       {{"lambda", 25.0}},
       {.update = dc_asgd_mxnet},
       true},
  };
}

inline std::vector<PublishedRule> rules_of_changes() {
  constexpr double rate = PublishedJob::rate, pull = 0.6 / PublishedJob::workers;
  const std::string mean = "x = x + s c";
  const auto slowmo = [](Element& e) {
    e.v = 0.7 * e.v - e.mean / rate;
    e.x -= 0.8 * rate * e.v;
  };
  const auto diloco = [](Element& e) {
    e.v = 0.9 * e.v - e.mean;
    e.x -= 0.7 * (0.9 * e.v - e.mean);
  };
  const std::string elastic = "d = pull (x_worker - x); x_worker = x_worker - d; x = x + ";
  const auto two_steps = OptionValue(std::int64_t{2});
  return {
      {"local-sgd", mean, {{"h", std::int64_t{3}}}, mean_change()},
      {"post-local-sgd", mean, {{"switch_round", std::int64_t{2}}, {"h", std::int64_t{3}}}, mean_change()},
      {"fedavg", mean, {{"h", two_steps}, {"fraction", 0.5}}, mean_change()},
      {"ssp-cached", mean, {{"staleness", two_steps}}, mean_change()},
      {"adacomm", mean, {{"tau", std::int64_t{5}}, {"period_s", 0.0}}, mean_change()},
      {"adsp", mean, {{"period_s", 0.1}, {"commits", two_steps}}, mean_change()},
      {"esync", mean, {{"weights", std::string("steps")}}, mean_change()},
      {"esync-published", mean, {{"epsilon_s", 0.0}, {"weights", std::string("samples")}}, mean_change()},
      {"slowmo",
       "v = beta v - c / rate; x = x - alpha rate v",
       {{"h", two_steps}, {"outer_rate", 0.8}, {"outer_momentum", 0.7}},
       {.update = slowmo, .rate = rate},
       true},
      {"diloco",
       "v = mu v - c; x = x - outer_rate (mu v - c)",
       {{"h", two_steps}, {"outer_rate", 0.7}, {"outer_momentum", 0.9}},
       {.update = diloco, .rate = rate},
       true},
      {"easgd",
       elastic + "sum of d of all workers",
       {{"tau", two_steps}, {"beta", 0.6}},
       {.pull = pull, .rate = rate},
       true},
      {"easgd-async",
       elastic + "d of the one that pushed",
       {{"tau", two_steps}, {"beta", 0.6}},
       {.pull = pull, .rate = rate},
       true},
  };
}

inline std::vector<PublishedRule> rules_of_models() {
  constexpr double rate = PublishedJob::rate;
  return {
      {"d-psgd", "x = mean of the neighbours' x - rate g(x)", {}, {.rate = rate}},
      {"ad-psgd", "x = (x + x_other) / 2 - rate g(x)", {}, {.rate = rate}},
      {"group-average", "x = mean of the group's (x - rate g(x))", {}, {.rate = rate}},
  };
}

/// One row for each algorithm of the catalogue that more than one worker can use.
inline std::vector<PublishedRule> published_rules() {
  std::vector<PublishedRule> all;
  for (const auto& part : {rules_of_gradients(), rules_of_changes(), rules_of_models()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

/// Expects that all servers have decided about the same pushes alike. Reports go to the first one alone.
inline void expect_common_decisions(const FinishedJob& job) {
  const auto log_of = [&](Rank server) {
    std::vector<std::string> log;
    for (const DecisionRecord& record : job.journal.decisions)
      if (record.rank == server && !record.event.starts_with("report"))
        log.push_back(record.event + " -> " + record.decisions);
    return log;
  };
  const auto first = log_of(job.servers.front());
  EXPECT_FALSE(first.empty());
  for (const Rank server : job.servers) EXPECT_EQ(log_of(server), first) << "server of rank " << server;
  EXPECT_EQ(job.journal.split_samples, 0);
}

/// Expects that the job has the model of the published rule, and not that of another one: with one gradient
/// left out, or counted by one per cent more.
inline void expect_published(const FinishedJob& job, const PublishedRule& published) {
  const Reexecuted found = reexecute(job, published.rule);
  const double most = rounding_error(job, found.gradients);
  const double error = relative_error(job, found.model);
  EXPECT_LE(error, most);
  ::testing::Test::RecordProperty("share_of_rounding_error", std::to_string(error / most));
  constexpr double rounded_loss = 1e-4;
  EXPECT_LE(found.loss_error, rounded_loss) << "gradients were computed at other models";
  for (const double factor : {0.0, 1.01})
    EXPECT_GT(
        relative_error(job, reexecute(job, published.rule, {.contribution = 5, .factor = factor}).model),
        most)
        << "a contribution that counts " << factor << " times is not noticed";
  if (!published.is_special) return;
  Rule plain = published.rule.rate > 0.0 ? mean_change() : sgd_step();
  EXPECT_GT(relative_error(job, reexecute(job, plain).model), most) << "the formula makes no difference";
}

}  // namespace tandem::testing
