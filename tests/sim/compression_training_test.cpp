// Training with each compression over servers and all-reduces: bytes counted by hand, models that learn and
// that a by-hand computation reproduces, and no change where the compression is lossless.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "policies/collectives/schedule.hpp"
#include "policies/compression/codec.hpp"
#include "policies/vocabulary/check.hpp"
#include "tests/sim/training.hpp"
#include "workloads/checkpoint/saved_state.hpp"
#include "workloads/checkpoint/state_files.hpp"
#include "workloads/vectors/error_feedback.hpp"

namespace tandem {
namespace TANDEM_FILE {

using testing::small_experiment;
using testing::Training;
using Given = std::map<std::string, OptionValue>;

constexpr int workers = 3;

struct Route {
  std::string name;
  sync::Route over;
  std::vector<std::string> servers;
  std::string collective = "ring";
};
const Route one_server{"Server", sync::Route::server, {"host-0"}};
const Route two_shards{"TwoShards", sync::Route::server, {"host-0", "host-4"}};
const Route all_reduce{"AllReduce", sync::Route::all_reduce, {}};
const Route native{"Native", sync::Route::all_reduce, {}, "native"};
const Route doubling{"Doubling", sync::Route::all_reduce, {}, "recursive-doubling"};

struct Case {
  Route route;
  std::string method;
  bool means = false;  ///< replies are means
  std::map<std::string, OptionValue> options = {};
};
void PrintTo(const Case& value, std::ostream* out) { *out << value.route.name << ' ' << value.method; }
std::string name_of_case(const ::testing::TestParamInfo<Case>& info) {
  std::string name = info.param.route.name + "_" + info.param.method + (info.param.means ? "_Means" : "") +
                     (info.param.options.empty() ? "" : "_WithOptions");
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

class Compressed : public Training {
 protected:
  static Experiment experiment(const Route& route, const std::string& method, const Given& options = {}) {
    Experiment made = small_experiment(workers);
    made.sync.over = route.over;
    made.sync.collective = route.collective;
    made.sync.compression = method;
    made.sync.compression_options = options;
    made.placement.servers = route.servers;
    made.optimizer.momentum = 0.0;
    return made;
  }
  double mean_loss(const Journal& journal, int of_step) const {
    double sum = 0.0;
    for (const auto& step : journal.steps)
      if (step.step == of_step) sum += step.loss / workers;
    return sum;
  }
  std::unique_ptr<compression::Codec> codec_of(std::int64_t position, std::int64_t elements) const {
    return job_->exchange().compression()->make(job_->exchange().compression_setting(0, position, elements));
  }
};

class LearningCompression : public Compressed, public ::testing::WithParamInterface<Case> {};

TEST_P(LearningCompression, LearnsWithCompressionWorkOnBothSides) {
  Experiment made = experiment(GetParam().route, GetParam().method);
  const std::string& method = made.sync.compression;
  if (method == "top-k" || method == "random-k" || method == "dgc")
    made.sync.compression_options = {{"ratio", 0.25}};
  made.stop.rounds = 15;
  const Journal journal = train(made, true);
  for (const float value : final_model()) ASSERT_TRUE(std::isfinite(value));
  EXPECT_LT(mean_loss(journal, 14), 0.9 * mean_loss(journal, 0));
  int compressing = 0, decompressing = 0;
  for (const auto& operation : journal.operations) {
    if (operation.work != "compress" && operation.work != "decompress") continue;
    ++(operation.work == "compress" ? compressing : decompressing);
    EXPECT_GT(operation.end, operation.start);
  }
  const int buckets = static_cast<int>(job_->model().buckets.size());
  const bool by_servers = GetParam().route.over == sync::Route::server;
  const int stages = !by_servers && made.sync.compression == "power-sgd" ? 2 : 1;
  EXPECT_EQ(compressing, 15 * workers * buckets * stages);
  const int decoders = by_servers ? static_cast<int>(GetParam().route.servers.size()) : workers * buckets;
  EXPECT_EQ(decompressing, 15 * decoders);
}

/// All methods over these routes.
std::vector<Case> cases_over(const std::vector<Route>& routes) {
  std::vector<Case> all;
  for (const auto& entry : compression::catalog().entries())
    if (entry.make.make != nullptr)
      for (const Route& route : routes)
        if (route.over == sync::Route::server || entry.make.sharing != compression::Sharing::none)
          all.push_back({route, entry.name});
  return all;
}
std::vector<Case> without(std::vector<Case> all, const std::vector<Case>& some) {
  std::erase_if(all, [&](const Case& each) {
    return std::ranges::any_of(some, [&](const Case& one) {
      return one.method == each.method && one.route.name == each.route.name && one.means == each.means &&
             one.options == each.options;
    });
  });
  return all;
}

const std::vector<Case> learning_cases = {{two_shards, "top-k"}, {all_reduce, "power-sgd"}};
INSTANTIATE_TEST_SUITE_P(Over, LearningCompression, ::testing::ValuesIn(learning_cases), name_of_case);
INSTANTIATE_TEST_SUITE_P(LongOver, LearningCompression,
                         ::testing::ValuesIn(without(cases_over({two_shards, all_reduce, native}),
                                                     learning_cases)),
                         name_of_case);

class CountedCompression : public Compressed, public ::testing::WithParamInterface<Case> {};

/// Every worker sends one message per bucket and shard, and receives the uncompressed model; or passes
/// messages on around the ring; or gives its message to the library, and gets the sum or those of all.
TEST_P(CountedCompression, SendsTheBytesOfItsMessages) {
  Experiment made = experiment(GetParam().route, GetParam().method);
  made.workload.math = Experiment::Workload::Math::modelled;
  made.stop.rounds = 2;
  const Journal journal = train(made, true);
  std::int64_t sent = 0, received = 0, operations = 0;
  for (const auto& step : journal.steps) {
    sent += step.bytes_sent;
    received += step.bytes_received;
  }
  for (const auto& operation : journal.operations)
    if ((operation.kind == "send" || operation.kind == "all-reduce") && operation.rank < workers)
      operations += operation.bytes;
  const bool by_library = GetParam().route.collective == native.collective;
  EXPECT_EQ(by_library ? received : sent, operations) << "the records must agree with the messages";

  const int shards = std::max(1, static_cast<int>(made.placement.servers.size()));
  std::int64_t messages = 0;
  for (const auto& bucket : job_->model().buckets)
    for (int shard = 0; shard < shards; ++shard) {
      const auto piece = collectives::part_of(bucket.parameters, shards, shard);
      messages += codec_of(bucket.offset + piece.begin, piece.size())->message_bytes();
    }
  const bool by_servers = made.sync.over == sync::Route::server;
  const bool gathered = job_->exchange().compression()->sharing == compression::Sharing::gathered;
  const std::int64_t passed_on = gathered ? workers * (workers - 1) : 2 * (workers - 1);
  if (by_library) {
    EXPECT_EQ(sent, 2 * messages * workers);
    EXPECT_EQ(received, sent * (gathered ? workers : 1));
    return;
  }
  if (job_->exchange().compression()->sharing == compression::Sharing::none) {
    EXPECT_LT(sent, 2 * messages * workers) << "the longest messages";
    EXPECT_GT(sent, messages * workers) << "noise cannot be packed";
  } else {
    EXPECT_EQ(sent, 2 * messages * (by_servers ? workers : passed_on));
  }
  EXPECT_EQ(received, by_servers ? 2 * workers * job_->model().bytes().count() : sent);
}

/// Messages that are summed, gathered and factored.
const std::vector<Case> counted_cases = {
    {two_shards, "top-k"}, {two_shards, "one-bit"}, {two_shards, "qsgd"},      {two_shards, "lossless"},
    {all_reduce, "sign"},  {all_reduce, "fp16"},    {all_reduce, "power-sgd"}, {native, "sign"},
    {native, "fp16"},      {native, "power-sgd"},   {doubling, "sign"}};
INSTANTIATE_TEST_SUITE_P(Over, CountedCompression, ::testing::ValuesIn(counted_cases), name_of_case);
INSTANTIATE_TEST_SUITE_P(LongOver, CountedCompression,
                         ::testing::ValuesIn(without(cases_over({one_server, two_shards, all_reduce, native}),
                                                     counted_cases)),
                         name_of_case);

/// Messages that the library or another schedule gathers are decoded in the order of workers, as those of a
/// ring. Sums have another order of additions.
class OtherCollective : public Compressed, public ::testing::WithParamInterface<Case> {};

TEST_P(OtherCollective, GivesTheModelOfARing) {
  train_apart(experiment(all_reduce, GetParam().method), "ring");
  train(experiment(GetParam().route, GetParam().method));
  if (job_->exchange().compression()->sharing == compression::Sharing::gathered)
    EXPECT_EQ(final_model(), model_in("ring"));
  else
    expect_close(final_model(), model_in("ring"), 1e-3F);
  EXPECT_GT(distance(final_model(), initial_model(job_->replica_plan())), 2e-3F);
}

const std::vector<Case> collective_cases = {{native, "sign"}, {native, "fp16"}, {doubling, "sign"}};
INSTANTIATE_TEST_SUITE_P(Over, OtherCollective, ::testing::ValuesIn(collective_cases), name_of_case);
INSTANTIATE_TEST_SUITE_P(LongOver, OtherCollective,
                         ::testing::ValuesIn(without(cases_over({native, doubling}), collective_cases)),
                         name_of_case);

/// Lossless settings do not change the training.
class LosslessCompression : public Compressed, public ::testing::WithParamInterface<Case> {};

TEST_P(LosslessCompression, IsSequentialTraining) {
  Given options = {{"ratio", 1.0}};
  if (GetParam().method == "power-sgd") options = {{"rank", std::int64_t{1024}}};
  train(experiment(GetParam().route, GetParam().method, options));
  expect_close(final_model(), sequential_model(5), 1e-4F);
  EXPECT_GT(distance(final_model(), initial_model(job_->replica_plan())), 1e-2F);
}

INSTANTIATE_TEST_SUITE_P(Over, LosslessCompression,
                         ::testing::Values(Case{two_shards, "top-k"}, Case{all_reduce, "power-sgd"}),
                         name_of_case);
INSTANTIATE_TEST_SUITE_P(LongOver, LosslessCompression,
                         ::testing::Values(Case{one_server, "top-k"}, Case{all_reduce, "top-k"},
                                           Case{one_server, "random-k"}, Case{all_reduce, "random-k"},
                                           Case{one_server, "power-sgd"}),
                         name_of_case);

/// The mean of the velocities is the velocity of the mean.
TEST_F(Compressed, VelocitiesOfAllElementsAreMomentum) {
  Experiment made = experiment(two_shards, "none");
  made.optimizer.momentum = 0.9;
  train_apart(made, "momentum");
  made.optimizer.momentum = 0.0;
  train_apart(made, "plain");
  made.sync.compression = "dgc";
  made.sync.compression_options = {{"ratio", 1.0}, {"masking", false}};
  train(made);
  expect_close(final_model(), model_in("momentum"), 1e-4F);
  EXPECT_GT(distance(final_model(), model_in("plain")), 1e-2F);
}

/// In each quarter of the warm-up, a message has a quarter of the elements of that before, after its length.
TEST_F(Compressed, MessagesOfAWarmUpBecomeShorter) {
  Experiment made = experiment(one_server, "dgc", {{"warm_up", std::int64_t{4}}});
  made.stop.rounds = 6;
  const Journal journal = train(made);
  std::map<int, std::int64_t> sent, expected;  // by round
  for (const auto& step : journal.steps) sent[step.round] += step.bytes_sent;
  const std::vector<double> shares = {0.25, 0.0625, 0.015625, 0.00390625, 0.001, 0.001};
  for (int round = 0; round < 6; ++round)
    for (const auto& bucket : job_->model().buckets) {
      const auto share = shares.at(static_cast<std::size_t>(round)) * static_cast<double>(bucket.parameters);
      expected[round] += workers * (4 + 8 * std::max<std::int64_t>(1, std::llround(share)));
    }
  EXPECT_EQ(sent, expected);
}

/// Packed pushes give the very same model, also with running statistics, which follow them unpacked.
class PackedModel : public Compressed, public ::testing::WithParamInterface<const char*> {};
TEST_P(PackedModel, IsThatOfUncompressedGradients) {
  Experiment made = experiment(two_shards, "none");
  made.workload.model = GetParam();
  made.stop.rounds = 2;
  train_apart(made, "plain");
  made.sync.compression = "lossless";
  train(made);
  EXPECT_EQ(final_model(), model_in("plain"));
}
INSTANTIATE_TEST_SUITE_P(Of, PackedModel, ::testing::Values("mlp", "resnet32"));

/// With modelled mathematics, each message has the stated share of the bytes, after its lengths.
TEST_F(Compressed, ModelledPackedGradientsHaveTheStatedRatio) {
  Experiment made = experiment(one_server, "lossless", {{"ratio", 0.5}});
  made.workload.math = Experiment::Workload::Math::modelled;
  made.stop.rounds = 3;
  std::int64_t sent = 0, expected = 0;
  const Journal journal = train(made);
  for (const auto& step : journal.steps) sent += step.bytes_sent;
  for (const auto& bucket : job_->model().buckets) expected += 16 + (2 * bucket.parameters + 3) / 4 * 4;
  EXPECT_EQ(sent, 3 * workers * expected);
}

/// The same messages over any route, computed again by hand.
class RepeatedCompression : public Compressed, public ::testing::WithParamInterface<Case> {
 protected:
  /// What one rank sends of one bucket.
  struct Sender {
    std::unique_ptr<compression::Codec> codec;
    double momentum = 0.0;  ///< of DGC's workers; its codec without memory is that of top-k
    std::vector<float> velocity = {};
    compression::ErrorFeedback feedback{host_device()};
  };
  using Senders = std::vector<Sender>;

  /// `sender`: a worker, or after the workers the server.
  Senders senders_of(int sender) const {
    Senders all;
    const ExchangePlan& exchange = job_->exchange();
    const bool is_corrected = exchange.compression_method().name == "dgc" && sender < workers;
    for (const auto& bucket : job_->model().buckets)
      all.push_back({exchange.compression()->make(
                         exchange.compression_setting(sender, bucket.offset, bucket.parameters)),
                     is_corrected ? exchange.compression_options().real("momentum") : 0.0});
    return all;
  }
  /// What arrives of these values.
  std::vector<float> sent(Senders& senders, std::span<const float> values, int round, bool feeds_back) const {
    std::vector<float> all(values.size());
    for (std::size_t bucket = 0; bucket < senders.size(); ++bucket) {
      const auto& extent = job_->model().buckets[bucket];
      const auto offset = static_cast<std::size_t>(extent.offset),
                 size = static_cast<std::size_t>(extent.parameters);
      const auto own = values.subspan(offset, size);
      Sender& sender = senders[bucket];
      std::vector<std::byte> message(static_cast<std::size_t>(sender.codec->message_bytes()));
      sender.velocity.resize(size);
      for (std::size_t i = 0; i < size; ++i)
        sender.velocity[i] = static_cast<float>(sender.momentum) * sender.velocity[i] + own[i];
      sender.codec->encode(feeds_back ? sender.feedback.add(sender.velocity) : own, round, message);
      const auto arrived = std::span(all).subspan(offset, size);
      sender.codec->decode(message, round, arrived);
      if (!feeds_back) continue;
      sender.feedback.subtract(arrived);
      for (std::size_t i = 0; i < size; ++i)
        if (arrived[i] != 0.0F) sender.velocity[i] = 0.0F;
    }
    return all;
  }

  /// The model that is trained, whether it is the server's or that of every worker.
  std::vector<float> by_hand(int rounds) const {
    const ExchangePlan& exchange = job_->exchange();
    const bool feeds_back = compression::has_error_feedback(exchange.compression_options());
    const bool sends_means = exchange.servers_send_means();
    std::vector<Senders> pushes;
    for (int worker = 0; worker < workers; ++worker) pushes.push_back(senders_of(worker));
    Senders replies = senders_of(workers);
    const auto learner = make_job_learner(job_->replica_plan());
    std::vector<float> model(learner->model().begin(), learner->model().end());
    std::vector<float> known = model;  // by workers
    for (int round = 0; round < rounds; ++round) {
      std::vector<float> mean(model.size());
      for (int worker = 0; worker < workers; ++worker) {
        const auto exact = gradient_at(*learner, {known.begin(), known.end()}, worker);
        const std::vector<float> gradient(exact.begin(), exact.end());
        const auto arrived = sent(pushes[static_cast<std::size_t>(worker)], gradient, round, feeds_back);
        for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += arrived[i] / workers;
      }
      const auto rate = static_cast<float>(exchange.optimizer_setting().learning_rate);
      if (sends_means && exchange.compresses_replies()) mean = sent(replies, mean, round, feeds_back);
      for (std::size_t i = 0; i < model.size(); ++i) model[i] -= rate * mean[i];
      if (!exchange.replies_bring_differences()) {
        known = model;
        continue;
      }
      std::vector<float> difference(model.size());
      for (std::size_t i = 0; i < model.size(); ++i) difference[i] = model[i] - known[i];
      const auto arrived = sent(replies, difference, round, false);
      for (std::size_t i = 0; i < model.size(); ++i) known[i] += arrived[i];
    }
    return model;
  }
};

TEST_P(RepeatedCompression, ByHandComputationGivesTheSameModel) {
  train(experiment(GetParam().route, GetParam().method));
  // If rounding changes a sign or the choice of an element, only a few elements differ.
  const auto repeated = by_hand(5);
  expect_close(final_model(), repeated, 1e-3F);
  EXPECT_GT(distance(repeated, initial_model(job_->replica_plan())), 2e-3F);
}

std::vector<Case> repeatable() {
  std::vector<Case> all;
  // Workers that share factors find other factors than each worker alone.
  for (const Case& one : cases_over({one_server, all_reduce, native}))
    if (one.method != "power-sgd" || one.route.over == sync::Route::server) all.push_back(one);
  return all;
}
/// Each method once, here or in NativeCompression.
const std::vector<Case> repeated_cases = {
    {one_server, "top-k"}, {one_server, "one-bit"},   {one_server, "dgc"},      {all_reduce, "dgc"},
    {one_server, "qsgd"},  {one_server, "power-sgd"}, {all_reduce, "random-k"}, {all_reduce, "bf16"}};
INSTANTIATE_TEST_SUITE_P(Over, RepeatedCompression, ::testing::ValuesIn(repeated_cases), name_of_case);
INSTANTIATE_TEST_SUITE_P(LongOver, RepeatedCompression,
                         ::testing::ValuesIn(without(repeatable(), repeated_cases)), name_of_case);

/// Replies are compressed as well: the change of the server's model since the last reply, or the mean, with
/// error feedback of the server (DoubleSqueeze). Every worker receives the bytes of the messages.
class CompressedReplies : public RepeatedCompression {
 protected:
  static Experiment both_ways(const Case& of) {
    Experiment made = experiment(of.route, of.method, of.options);
    made.sync.compress_replies = true;
    made.optimizer.update_at = of.means ? UpdateSide::workers : UpdateSide::server;
    if (of.options.contains("magnitude")) made.optimizer.learning_rate = 1e-3;  // of each element
    return made;
  }
  std::int64_t received(const Journal& journal) const {
    std::int64_t sum = 0;
    for (const auto& step : journal.steps) sum += step.bytes_received;
    return sum;
  }
};

TEST_P(CompressedReplies, ByHandComputationGivesTheSameModel) {
  const std::string& method = GetParam().method;
  const Journal journal = train(both_ways(GetParam()));
  const auto repeated = by_hand(5);
  expect_close(final_model(), repeated, 1e-3F);
  EXPECT_GT(distance(repeated, initial_model(job_->replica_plan())), 2e-3F);
  EXPECT_LT(received(journal), 5 * workers * job_->model().bytes().count());
  if (method == "lossless") return;  // lengths vary
  std::int64_t messages = 0;
  for (const auto& bucket : job_->model().buckets)
    messages += codec_of(bucket.offset, bucket.parameters)->message_bytes();
  EXPECT_EQ(received(journal), 5 * workers * messages);
}

std::vector<Case> reply_cases() {
  std::vector<Case> all;
  for (const auto& entry : compression::catalog().entries())
    for (const bool means : {false, true})
      if (entry.make.make != nullptr &&
          (means || entry.make.may_err_widely == nullptr ||
           !entry.make.may_err_widely(Options::resolve(entry.name, entry.options, {}))))
        all.push_back({one_server, entry.name, means});
  // A majority vote.
  all.push_back({one_server, "sign", true, {{"magnitude", std::string("one")}, {"error_feedback", false}}});
  return all;
}
const std::vector<Case> few_reply_cases = {{one_server, "top-k", false}, {one_server, "one-bit", true}};
INSTANTIATE_TEST_SUITE_P(Some, CompressedReplies, ::testing::ValuesIn(few_reply_cases), name_of_case);
INSTANTIATE_TEST_SUITE_P(LongSome, CompressedReplies,
                         ::testing::ValuesIn(without(reply_cases(), few_reply_cases)), name_of_case);

/// A worker that continues has a model that the server does not know: its first reply is all of the model.
TEST_F(Compressed, TheFirstReplyOfAResumedJobIsTheModel) {
  Experiment made = experiment(two_shards, "top-k", {{"ratio", 0.25}});
  made.sync.compress_replies = true;
  made.evaluate_every = 2;
  made.placement.evaluator = "host-0";
  made.stop.rounds = 4;
  train_apart(made, "first");
  made.stop.rounds = 6;
  resumes_ = directory_ / "first";
  const Journal journal = train(made);
  std::map<int, std::int64_t> received;  // by round
  for (const auto& step : journal.steps) received[step.round] += step.bytes_received;
  ASSERT_EQ(received.size(), 2U);
  EXPECT_EQ(received.at(4), workers * job_->model().bytes().count());
  EXPECT_LT(received.at(5), received.at(4));
}

/// Changes of several local steps, asynchronous pushes, and a coordinator in addition to the all-reduce.
struct Algorithm {
  std::string name;
  Route route;
  std::string method;
  bool replies = false;
};
void PrintTo(const Algorithm& value, std::ostream* out) { *out << value.name; }

class CompressedAlgorithm : public Compressed, public ::testing::WithParamInterface<Algorithm> {};

TEST_P(CompressedAlgorithm, Learns) {
  Experiment made = experiment(GetParam().route, GetParam().method, {{"ratio", 0.25}});
  made.sync.algorithm = GetParam().name;
  made.placement.servers = {"host-0"};
  made.stop.rounds = 15;
  made.sync.compress_replies = GetParam().replies;
  if (made.sync.algorithm.starts_with("easgd")) made.sync.compression_options["error_feedback"] = false;
  const Journal journal = train(made);
  for (const float value : final_model()) ASSERT_TRUE(std::isfinite(value));
  const auto last = std::max_element(journal.steps.begin(), journal.steps.end(),
                                     [](const auto& a, const auto& b) { return a.start < b.start; });
  EXPECT_LT(last->loss, 0.9 * mean_loss(journal, 0));
}

std::string name_of_algorithm(const ::testing::TestParamInfo<Algorithm>& test) {
  std::string name = test.param.name + "_" + test.param.route.name + "_" + test.param.method +
                     (test.param.replies ? "_BothWays" : "");
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Some, CompressedAlgorithm,
                         ::testing::Values(Algorithm{"local-sgd", all_reduce, "random-k"},
                                           Algorithm{"ssp", one_server, "top-k"},
                                           Algorithm{"ssp", one_server, "top-k", true},
                                           Algorithm{"esync", all_reduce, "top-k"}),
                         name_of_algorithm);
INSTANTIATE_TEST_SUITE_P(LongSome, CompressedAlgorithm,
                         ::testing::Values(Algorithm{"local-sgd", one_server, "top-k"},
                                           Algorithm{"asp", one_server, "random-k"},
                                           Algorithm{"asp", one_server, "random-k", true},
                                           Algorithm{"local-sgd", one_server, "top-k", true},
                                           Algorithm{"k-batch-sync", one_server, "top-k", true},
                                           Algorithm{"easgd-async", one_server, "top-k", true},
                                           Algorithm{"esync", one_server, "top-k"}),
                         name_of_algorithm);

class CompressedStatistics : public Compressed, public ::testing::WithParamInterface<Case> {};

TEST_P(CompressedStatistics, AreSentUncompressed) {
  Experiment made = experiment(GetParam().route, GetParam().method);
  made.workload.model = "resnet18";
  made.workload.math = Experiment::Workload::Math::modelled;
  made.stop.rounds = 1;
  const Journal journal = train(made);
  std::int64_t sent = 0, messages = 0, statistics = 0;
  for (const auto& step : journal.steps) sent += step.bytes_sent;
  for (const auto& bucket : job_->model().buckets) {
    messages += codec_of(bucket.offset, bucket.parameters)->message_bytes();
    statistics += 4 * bucket.statistics;
  }
  EXPECT_GT(statistics, 0);
  const bool is_given_once =
      GetParam().route.over == sync::Route::server || GetParam().route.collective == native.collective;
  EXPECT_EQ(sent, is_given_once ? workers * (messages + statistics)
                                : (workers - 1) * (workers * messages + 2 * statistics));
}

INSTANTIATE_TEST_SUITE_P(Over, CompressedStatistics,
                         ::testing::Values(Case{one_server, "sign"}, Case{all_reduce, "sign"},
                                           Case{native, "sign"}),
                         name_of_case);

/// A worker whose pushes are all dropped: its unsent rest must not contain them.
TEST_F(Compressed, DroppedPushesDoNotChangeTheUnsentRest) {
  Experiment made = experiment(two_shards, "top-k", {{"ratio", 0.25}});
  made.sync.algorithm = "k-sync";
  made.sync.options = {{"k", std::int64_t{2}}};
  made.evaluate_every = 1;
  made.placement.evaluator = "host-0";
  price_ = [](Rank rank, const Work& work) {
    return Seconds(work.kind != Work::Kind::forward ? 0.0 : rank == 2 ? 2.5 : 1.0);
  };
  const Journal journal = train(made);
  int dropped = 0;
  for (const auto& record : journal.decisions) {
    EXPECT_EQ(record.decisions.find("accept 2"), std::string::npos) << record.event;
    dropped += record.decisions.starts_with("discard 2") ? 1 : 0;
  }
  EXPECT_GE(dropped, 4) << "two on each shard";
  const auto largest_unsent = [&](int worker) {
    SavedState state = SavedState::load(state_path(
        directory_.string(), 2, {.role = RankAssignment::Role::worker, .index = worker, .host = ""}));
    float largest = 0.0F;
    for (std::size_t shard = 0; shard < job_->exchange().shard_layout().size(); ++shard)
      for (std::size_t piece = 0; piece < job_->exchange().shard_layout()[shard].size(); ++piece) {
        const auto elements =
            static_cast<std::size_t>(job_->exchange().shard_layout()[shard][piece].parameters);
        std::vector<float> unsent(elements);
        state.floats("compression." + std::to_string(shard) + '.' + std::to_string(piece) + ".unsent",
                     unsent);
        for (const float value : unsent) largest = std::max(largest, std::abs(value));
      }
    return largest;
  };
  EXPECT_GT(largest_unsent(0), 0.0F);
  EXPECT_EQ(largest_unsent(2), 0.0F);
}

/// Both pushes that make the update were computed on the same model, and still choose elements
/// independently: with a share of 1/2 each, 3/4 of all elements change (and not 1/2).
TEST_F(Compressed, PushesOfOneVersionDrawDifferentNumbers) {
  Experiment made = experiment(one_server, "random-k", {{"ratio", 0.5}, {"error_feedback", false}});
  made.placement.workers.resize(1);
  made.workload.batch = 96;  // all samples, so that the gradient of both is the same
  made.sync.algorithm = "k-batch-sync";
  made.sync.options = {{"k", std::int64_t{2}}};
  made.stop.rounds = 2;
  train(made);
  const std::vector<float> before = initial_model(job_->replica_plan()), after = final_model();
  const auto learner = make_job_learner(job_->replica_plan());
  const std::vector<double> gradient = gradient_at(*learner, {before.begin(), before.end()}, 0);
  double with_gradient = 0, changed = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (std::abs(gradient[i]) < 1e-4) continue;
    ++with_gradient;
    changed += before[i] != after[i] ? 1 : 0;
  }
  ASSERT_GT(with_gradient, 1000);
  const double error = std::sqrt(0.75 * 0.25 / with_gradient);
  EXPECT_NEAR(changed / with_gradient, 0.75, 5 * error);
}

TEST_F(Compressed, DistancesRejectErrorFeedback) {
  const testing::TemporaryPlatform file(testing::TemporaryPlatform::star(10, 1e8, 1e-4));
  const auto platform = platforms::load_platform(file.path());
  Experiment made = experiment(one_server, "top-k");
  made.sync.algorithm = "easgd";
  EXPECT_THROW(Job(made, platform, directory_.string()), ConfigError);
  made.sync.compression_options = {{"error_feedback", false}};
  EXPECT_NO_THROW(Job(made, platform, directory_.string()));
}

}  // namespace TANDEM_FILE
}  // namespace tandem
