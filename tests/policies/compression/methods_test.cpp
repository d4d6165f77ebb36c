// Each compression method: against results worked out by hand, exact in its lossless limit, and its mean over
// many draws.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "tests/policies/compression/stretches.hpp"
#include "workloads/vectors/compute_device.hpp"
#include "workloads/vectors/error_feedback.hpp"

namespace tandem::compression {
namespace TANDEM_FILE {

using Given = std::map<std::string, OptionValue>;
using Values = std::vector<float>;

TEST(TopK, SendsTheLargestAndBreaksTiesByIndex) {
  const auto codec = make("top-k", {{1, 8}}, {{"ratio", 0.5}});
  EXPECT_EQ(sent(*codec, {1, -5, 2, 2, 0, -2, 4, -2}), (Values{0, -5, 2, 2, 0, 0, 4, 0}));
  EXPECT_EQ(sent(*codec, {3, 3, 3, 3, 3, 3, 3, 3}), (Values{3, 3, 3, 3, 0, 0, 0, 0}));
}

TEST(TopK, OfAllElementsIsExact) {
  Rng random(1);
  const auto values = random_values(999, random);
  EXPECT_EQ(sent(*make("top-k", {{1, 999}}, {{"ratio", 1.0}}), values), values);
}

/// A worker's messages, with their memory.
class DgcSender {
 public:
  explicit DgcSender(std::int64_t elements, const Given& options, bool takes_back = false)
      : codec_(make("dgc", {{1, elements}}, options)), feedback_(host_device(), takes_back) {}
  Values sent(const Values& values, std::int64_t exchange = 0) {
    message_.assign(static_cast<std::size_t>(codec_->message_bytes()), std::byte{});
    Values sent(values.size());
    feedback_.encode(*codec_, values, exchange, message_, sent);
    return sent;
  }
  std::int64_t bytes() const { return codec_->bytes_of(message_); }
  void take_back() { feedback_.take_back(); }

 private:
  std::unique_ptr<Codec> codec_;
  ErrorFeedback feedback_;
  std::vector<std::byte> message_;
};

/// Of one element in four. Velocities are 1 2 0 0, then 1.5 0 0 0 because the second was sent, 0 1 3 0, and
/// 0 0.5 0 0.
TEST(Dgc, SendsTheLargestSumOfVelocities) {
  DgcSender worker(4, {{"ratio", 0.25}, {"momentum", 0.5}});
  EXPECT_EQ(worker.sent({1, 2, 0, 0}), (Values{0, 2, 0, 0}));
  EXPECT_EQ(worker.sent({1, 0, 0, 0}), (Values{2.5F, 0, 0, 0}));
  EXPECT_EQ(worker.sent({0, 1, 3, 0}), (Values{0, 0, 3, 0}));
  EXPECT_EQ(worker.sent({0, 0, 0, 0}), (Values{0, 1.5F, 0, 0}));
}

/// The second element was sent in the first message, and would be again in the third: 1 + 0.5.
TEST(Dgc, WithoutMaskingWhatWasSentKeepsItsMomentum) {
  DgcSender worker(4, {{"ratio", 0.25}, {"momentum", 0.5}, {"masking", false}});
  EXPECT_EQ(worker.sent({1, 2, 0, 0}), (Values{0, 2, 0, 0}));
  EXPECT_EQ(worker.sent({1, 0, 0, 0}), (Values{2.5F, 0, 0, 0}));
  EXPECT_EQ(worker.sent({0, 0, 0, 0}), (Values{0, 1.5F, 0, 0}));
}

TEST(Dgc, WithoutMomentumIsTopK) {
  Rng random(21);
  DgcSender worker(200, {{"ratio", 0.05}, {"momentum", 0.0}});
  const auto codec = make("top-k", {{1, 200}}, {{"ratio", 0.05}});
  ErrorFeedback feedback(host_device());
  for (int exchange = 0; exchange < 20; ++exchange) {
    const auto values = random_values(200, random);
    std::vector<std::byte> message(static_cast<std::size_t>(codec->message_bytes()));
    Values expected(values.size());
    feedback.encode(*codec, values, exchange, message, expected);
    EXPECT_EQ(worker.sent(values, exchange), expected);
  }
}

TEST(Dgc, TakesBackVelocitiesToo) {
  Rng random(22);
  DgcSender worker(200, {{"ratio", 0.05}}, true), undisturbed(200, {{"ratio", 0.05}}, true);
  for (int exchange = 0; exchange < 5; ++exchange) {
    const auto values = random_values(200, random);
    worker.sent(random_values(200, random), exchange);
    worker.take_back();
    EXPECT_EQ(worker.sent(values, exchange), undisturbed.sent(values, exchange));
  }
}

/// Quarters of two updates each, of 1,000 elements; the upper half of a number counts repetitions.
TEST(Dgc, WarmsUp) {
  DgcSender worker(1000, {{"warm_up", std::int64_t{8}}});
  const Values ones(1000, 1.0F);
  const std::vector<std::int64_t> counts = {250, 250, 63, 63, 16, 16, 4, 4, 1, 1};
  for (std::size_t update = 0; update < counts.size(); ++update) {
    worker.sent(ones, static_cast<std::int64_t>(update) + (std::int64_t{3} << 32));
    EXPECT_EQ(worker.bytes(), 4 + 8 * counts[update]) << update;
  }
}

/// A server's means have the momentum of the workers' pushes already, and changes of models the optimiser's.
TEST(Dgc, OnlyGradientsGetMomentum) {
  const auto codec =
      catalog().find("dgc").make.make({.stretch = stretch_with({{1, 4}}),
                                       .options = options_of("dgc", {{"ratio", 0.25}, {"masking", false}}),
                                       .is_gradient = false});
  std::vector<float> memory(8);
  std::vector<std::byte> message(8);
  for (int exchange = 0; exchange < 2; ++exchange)
    codec->encode_with_memory(Values{1, 0, 0, 0}, memory, exchange, message);
  EXPECT_EQ(decoded(*codec, message, 4), (Values{1, 0, 0, 0}));
}

TEST(RandomK, OfAllElementsIsExact) {
  Rng random(1);
  const auto values = random_values(999, random);
  for (const bool feedback : {true, false})
    EXPECT_EQ(sent(*make("random-k", {{1, 999}}, {{"ratio", 1.0}, {"error_feedback", feedback}}), values, 3),
              values);
}

TEST(RandomK, ChoosesTheSameForAllWorkersAndChangesPerExchange) {
  const Values ones(1000, 1.0F);
  const Given tenth = {{"ratio", 0.1}};
  const auto one = make("random-k", {{1, 1000}}, tenth, 0), other = make("random-k", {{1, 1000}}, tenth, 5);
  const auto another_seed = make("random-k", {{1, 1000}}, tenth, 0, 2);
  EXPECT_EQ(sent(*one, ones, 4), sent(*other, ones, 4));
  EXPECT_NE(sent(*one, ones, 4), sent(*one, ones, 5));
  EXPECT_NE(sent(*one, ones, 4), sent(*another_seed, ones, 4));
  // Back to an earlier exchange, like a server that decodes for several workers.
  EXPECT_EQ(sent(*one, ones, 4), sent(*other, ones, 4));
  const auto chosen = sent(*one, ones, 4);
  EXPECT_EQ(std::count(chosen.begin(), chosen.end(), 1.0F), 100);
}

/// The mean over draws is within 5 standard errors for each element, as estimated from the draws, plus a
/// tolerance for rare large values, which the estimate may miss.
void expect_unbiased(const std::string& method, const Given& options) {
  Rng random(11);
  const auto values = random_values(300, random);
  const auto codec = make(method, {{1, 300}}, options);
  constexpr int draws = 4000;
  std::vector<double> sum(values.size()), squares(values.size());
  double largest = 0.0;
  for (int draw = 0; draw < draws; ++draw) {
    const auto gone = sent(*codec, values, draw);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double error = static_cast<double>(gone[i]) - static_cast<double>(values[i]);
      largest = std::max(largest, std::abs(static_cast<double>(gone[i])));
      sum[i] += error;
      squares[i] += error * error;
    }
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double mean = sum[i] / draws;
    const double standard_error = std::sqrt(squares[i] / draws / draws);
    EXPECT_LE(std::abs(mean), 5 * standard_error + 12 * largest / draws) << method << ", element " << i;
  }
  // TernGrad's largest element is exact.
  EXPECT_LE(std::count(squares.begin(), squares.end(), 0.0), 1);
}

TEST(RandomK, WithoutErrorFeedbackIsUnbiased) {
  expect_unbiased("random-k", {{"ratio", 0.1}, {"error_feedback", false}});
}
TEST(Qsgd, IsUnbiased) {
  expect_unbiased("qsgd", {});
  expect_unbiased("qsgd", {{"levels", std::int64_t{1}}, {"bucket", std::int64_t{64}}});
}

/// Alistarh et al., lemma 3.1: E |Q(v) - v|^2 <= min(n / s^2, sqrt(n) / s) |v|^2.
TEST(Qsgd, VariesNoMoreThanItsBound) {
  constexpr double bucket = 128.0;
  for (const std::int64_t levels : {1, 4, 16}) {
    Rng random(12);
    const auto values = random_values(128, random);
    const auto codec = make("qsgd", {{1, 128}}, {{"levels", levels}});
    double mean = 0.0;
    constexpr int draws = 500;
    for (int draw = 0; draw < draws; ++draw) {
      auto error = sent(*codec, values, draw);
      for (std::size_t i = 0; i < error.size(); ++i) error[i] -= values[i];
      mean += square(error) / draws;
    }
    const auto s = static_cast<double>(levels);
    EXPECT_LE(mean, 1.05 * std::min(bucket / (s * s), std::sqrt(bucket) / s) * square(values)) << levels;
  }
}

TEST(Qsgd, WorkersDrawIndependently) {
  Rng random(13);
  const auto values = random_values(300, random);
  EXPECT_NE(encoded(*make("qsgd", {{1, 300}}, {}, 0), values),
            encoded(*make("qsgd", {{1, 300}}, {}, 1), values));
}

TEST(TernGrad, WithoutClippingIsUnbiased) { expect_unbiased("terngrad", {{"clip", 0.0}}); }

/// The standard deviation of a 7 among seven zeros is 7 sqrt(7) / 8; of ones there is none.
TEST(TernGrad, SendsTheScaleOfEachTensor) {
  const Values values = {0, 0, 0, -7, 0, 0, 0, 0, 1, 1};
  EXPECT_EQ(sent(*make("terngrad", {{1, 8}, {1, 2}}, {{"clip", 0.0}}), values), values);
  const auto clipped = sent(*make("terngrad", {{1, 8}, {1, 2}}, {{"clip", 2.0}}), values);
  EXPECT_NEAR(clipped[3], -2.0 * 7.0 * std::sqrt(7.0) / 8.0, 1e-5);
  EXPECT_EQ(clipped[9], 1.0F);
}

TEST(TwoBit, SendsTheThresholdWhereItIsReached) {
  const auto codec = make("two-bit", {{1, 5}}, {{"threshold", 0.5}});
  EXPECT_EQ(sent(*codec, {0.5F, -0.75F, 0.49F, -3, 0}), (Values{0.5F, -0.5F, 0, -0.5F, 0}));
}

TEST(Sign, IsTheMeanMagnitudeOfEachTensor) {
  const auto codec = make("sign", {{2, 2}, {1, 3}});
  EXPECT_EQ(sent(*codec, {1, -2, 3, -2, 10, 0, -20}), (Values{2, -2, 2, -2, 10, 10, -10}));
  const auto alone = make("sign", {{2, 2}, {1, 3}}, {{"magnitude", std::string("one")}});
  EXPECT_EQ(sent(*alone, {1, -2, 3, -2, 10, 0, -20}), (Values{1, -1, 1, -1, 1, 1, -1}));
}

TEST(OneBit, IsTheMeanOfEachSideOfEachTensor) {
  const auto codec = make("one-bit", {{2, 2}, {1, 3}});
  EXPECT_EQ(sent(*codec, {1, -2, 3, -4, 5, 7, 9}), (Values{2, -3, 2, -3, 7, 7, 7}));
}

TEST(Casts, RoundEachNumber) {
  EXPECT_EQ(sent(*make("fp16", {{1, 3}}), {1.0F + 0x1.0p-12F, 70000.0F, -0.5F}), (Values{1, 65504, -0.5F}));
  EXPECT_EQ(sent(*make("bf16", {{1, 3}}), {1.0F + 0x1.0p-12F, 0x1.0p100F, -0.5F}),
            (Values{1, 0x1.0p100F, -0.5F}));
}

/// A matrix that is the sum of `rank` products of vectors.
Values matrix_of_rank(int rank, std::int64_t rows, std::int64_t columns, Rng& random) {
  Values matrix(static_cast<std::size_t>(rows * columns));
  for (int term = 0; term < rank; ++term) {
    const auto left = random_values(rows, random), right = random_values(columns, random);
    for (std::size_t i = 0; i < left.size(); ++i)
      for (std::size_t j = 0; j < right.size(); ++j) matrix[i * right.size() + j] += left[i] * right[j];
  }
  return matrix;
}

double distance(const Values& a, const Values& b) {
  Values difference = a;
  for (std::size_t i = 0; i < a.size(); ++i) difference[i] -= b[i];
  return std::sqrt(square(difference));
}

TEST(PowerSgd, OfFullRankIsExact) {
  Rng random(21);
  const auto values = random_values(20 * 30 + 30, random);
  EXPECT_EQ(sent(*make("power-sgd", {{20, 30}, {1, 30}}, {{"rank", std::int64_t{20}}}), values), values);
}

TEST(PowerSgd, FindsAMatrixOfItsRank) {
  for (const std::int64_t rank : {1, 2, 5}) {
    Rng random(22);
    const auto values = matrix_of_rank(static_cast<int>(rank), 40, 60, random);
    const auto codec = make("power-sgd", {{40, 60}}, {{"rank", rank}});
    EXPECT_LE(distance(sent(*codec, values), values), 1e-5 * std::sqrt(square(values))) << rank;
    // A rank that is larger than necessary does no harm.
    const auto wider = make("power-sgd", {{40, 60}}, {{"rank", rank + 3}});
    EXPECT_LE(distance(sent(*wider, values), values), 1e-5 * std::sqrt(square(values))) << rank;
  }
}

TEST(PowerSgd, ConvergesToTheBestDirectionsOfAConstantMatrix) {
  Rng random(23);
  auto values = matrix_of_rank(2, 40, 60, random);
  const auto noise = random_values(40 * 60, random);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] += 0.1F * noise[i];
  const auto codec = make("power-sgd", {{40, 60}});
  const double first = distance(sent(*codec, values), values);
  for (int exchange = 1; exchange < 10; ++exchange) sent(*codec, values, exchange);
  const double last = distance(sent(*codec, values, 10), values);
  EXPECT_LT(last, first);
  EXPECT_LE(last, 0.1 * std::sqrt(square(noise))) << "as close as the best approximation of rank 2";
}

/// Three workers, by hand: all decode the sum of what they sent, and each keeps its unsent part.
TEST(SharedFactors, DecodeToTheSumOfAllMessages) {
  const Shapes shapes = {{40, 60}, {1, 60}};
  const std::int64_t elements = stretch_with(shapes).elements;
  Rng random(24);
  std::vector<std::unique_ptr<SharedFactors>> workers;
  for (int worker = 0; worker < 3; ++worker)
    workers.push_back(
        catalog()
            .find("power-sgd")
            .make.make_factors(
                {.stretch = stretch_with(shapes), .options = options_of("power-sgd"), .worker = worker}));
  for (int exchange = 0; exchange < 3; ++exchange) {
    std::vector<Values> values;
    Values left(static_cast<std::size_t>(workers.front()->left_elements()));
    Values right(static_cast<std::size_t>(workers.front()->right_elements()));
    for (auto& worker : workers) {
      values.push_back(random_values(elements, random));
      Values own(left.size());
      worker->project(values.back(), own);
      for (std::size_t i = 0; i < left.size(); ++i) left[i] += own[i];
    }
    workers.front()->orthonormalise(left);
    Values expected(static_cast<std::size_t>(elements));
    for (std::size_t worker = 0; worker < workers.size(); ++worker) {
      Values own(right.size()), gone(expected.size());
      workers[worker]->reproject(values[worker], left, own);
      for (std::size_t i = 0; i < right.size(); ++i) right[i] += own[i];
      workers[worker]->expand(left, own, gone);
      workers[worker]->copy_plain(values[worker], gone);
      EXPECT_LT(distance(gone, values[worker]), std::sqrt(square(values[worker])));
      for (std::size_t i = 0; i < gone.size(); ++i) expected[i] += gone[i];
    }
    Values sum(expected.size());
    for (auto& worker : workers) {
      worker->expand(left, right, sum);
      worker->keep(right);
    }
    EXPECT_LE(distance(sum, expected), 1e-5 * std::sqrt(square(expected)));
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem::compression
