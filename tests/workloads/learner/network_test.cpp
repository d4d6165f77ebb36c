// Every kind of layer against finite differences in double precision, on small shapes, and its effect on
// known values.
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>

#include "workloads/learner/torch_network.hpp"

namespace tandem {
namespace TANDEM_FILE {

constexpr std::uint64_t seed = 7;

at::Tensor random(const std::vector<std::int64_t>& shape, double range, std::uint64_t stream) {
  Rng rng = Rng::stream(seed, "test", stream);
  const at::Tensor values = at::empty(shape, at::kDouble);
  for (std::int64_t i = 0; i < values.numel(); ++i)
    values.data_ptr<double>()[i] = range * (2.0 * rng.uniform() - 1.0);
  return values;
}

/// Layers with tensors store the index of their first one in `tensors`.
struct Case {
  std::string name;
  std::vector<Layer> layers;
  std::vector<std::int64_t> input;
  std::vector<std::vector<std::int64_t>> tensors;
  double range = 1.0;  ///< of the input's values
};
void PrintTo(const Case& value, std::ostream* out) { *out << value.name; }
std::string name_of(const ::testing::TestParamInfo<Case>& info) { return info.param.name; }

class Gradient : public ::testing::TestWithParam<Case> {};

TEST_P(Gradient, MatchesFiniteDifferences) {
  const auto& [name, layers, input, shapes, range] = GetParam();
  at::Tensor x = random(input, range, 0);
  std::vector<at::Tensor> tensors;
  for (const auto& shape : shapes) tensors.push_back(random(shape, 1.0, tensors.size() + 1));
  // A sum with random weights: a loss that depends on every output value.
  const auto loss = [&] {
    Rng dropout(seed);
    const at::Tensor y = Network(tensors, &dropout).run(layers, x);
    return (y * random(y.sizes().vec(), 1.0, 100)).sum();
  };
  std::vector<at::Tensor> sources = {x};
  sources.insert(sources.end(), tensors.begin(), tensors.end());
  for (auto& source : sources) source.requires_grad_(true);
  const auto gradients = torch::autograd::grad({loss()}, sources);
  const at::NoGradGuard without_gradients;
  for (std::size_t source = 0; source < sources.size(); ++source) {
    double* const values = sources[source].data_ptr<double>();
    const at::Tensor gradient = gradients[source].contiguous();
    EXPECT_GT(gradient.abs().max().item<double>(), 0.0) << "of " << source;
    for (std::int64_t i = 0; i < sources[source].numel(); ++i) {
      const double before = values[i];
      const double step = 1e-6;
      values[i] = before + step;
      const double above = loss().item<double>();
      values[i] = before - step;
      const double below = loss().item<double>();
      values[i] = before;
      ASSERT_NEAR(gradient.data_ptr<double>()[i], (above - below) / (2 * step), 1e-6)
          << "of " << source << ", value " << i;
    }
  }
}

Layer convolution(int first, const Convolution& operation) { return {"c", operation, first}; }

INSTANTIATE_TEST_SUITE_P(
    Layers, Gradient,
    ::testing::Values(
        Case{"Grouped",
             {convolution(0, {.outputs = 6, .kernel = 3, .groups = 2})},
             {2, 4, 4, 5},
             {{6, 2, 3, 3}, {6}}},
        Case{
            "Depthwise",
            {convolution(0,
                         {.outputs = 3, .kernel = 3, .stride = 2, .padding = 1, .bias = false, .groups = 3})},
            {2, 3, 5, 5},
            {{3, 1, 3, 3}}},
        Case{"Row",
             {convolution(0, {.outputs = 2, .kernel = {1, 5}, .padding = {0, 2}})},
             {2, 2, 3, 6},
             {{2, 2, 1, 5}, {2}}},
        Case{"MaxPool", {{"", MaxPool{3, 2, 1}}}, {2, 2, 5, 6}, {}},
        Case{"AveragePool", {{"", AveragePool{3, 1, 1}}}, {2, 2, 4, 4}, {}},
        Case{"AdaptiveAveragePoolDown", {{"", AdaptiveAveragePool{2}}}, {2, 2, 5, 3}, {}},
        Case{"AdaptiveAveragePoolUp", {{"", AdaptiveAveragePool{3}}}, {2, 2, 2, 1}, {}},
        Case{"GlobalAveragePool", {{"", GlobalAveragePool{}}, {"", Flatten{}}}, {2, 3, 4, 4}, {}},
        Case{"Relu6", {{"", Relu6{}}}, {2, 3, 4, 4}, {}, 12.0},
        Case{"Dropout", {{"", Dropout{0.5}}}, {4, 20}, {}},
        Case{"PadChannels", {{"", PadChannels{.outputs = 5, .stride = 2}}}, {2, 3, 5, 4}, {}},
        Case{
            "LinearResidual",
            {{"", Residual{.body = {convolution(0, {.outputs = 3, .kernel = 3, .padding = 1, .bias = false})},
                           .shortcut = {},
                           .rectified = false}}},
            {2, 3, 4, 4},
            {{3, 3, 3, 3}}},
        Case{"Preactivated",
             {{"", Relu{}},
              {"",
               Residual{.body = {convolution(
                            0, {.outputs = 4, .kernel = 3, .stride = 2, .padding = 1, .bias = false})},
                        .shortcut = {convolution(1, {.outputs = 4, .kernel = 1, .stride = 2, .bias = false})},
                        .rectified = false}}},
             {2, 3, 5, 5},
             {{4, 3, 3, 3}, {4, 3, 1, 1}}},
        Case{"ShortcutA",
             {{"", Residual{.body = {convolution(
                                0, {.outputs = 4, .kernel = 3, .stride = 2, .padding = 1, .bias = false})},
                            .shortcut = {{"", PadChannels{.outputs = 4, .stride = 2}}}}}},
             {2, 2, 5, 5},
             {{4, 2, 3, 3}}},
        Case{"Branches",
             {{"",
               Branches{
                   {{convolution(0, {.outputs = 2, .kernel = 1})},
                    {{"", AveragePool{3, 1, 1}}, convolution(2, {.outputs = 3, .kernel = 1})},
                    {{"", Branches{{{convolution(4, {.outputs = 2, .kernel = {1, 3}, .padding = {0, 1}})},
                                    {{"", MaxPool{3, 1, 1}}}}}}}}}}},
             {2, 2, 4, 4},
             {{2, 2, 1, 1}, {2}, {3, 2, 1, 1}, {3}, {2, 2, 1, 3}, {2}}}),
    name_of);

/// The third and fourth tensor are statistics, which have no gradient.
TEST(NormGradient, MatchesFiniteDifferencesForAnyEpsilon) {
  for (const double epsilon : {1e-5, 1e-1}) {
    std::vector<at::Tensor> tensors = {random({2}, 1.0, 1), random({2}, 1.0, 2), at::zeros({2}, at::kDouble),
                                       at::ones({2}, at::kDouble)};
    at::Tensor x = random({3, 2, 2, 2}, 1.0, 0);
    Rng unused(1);
    const auto loss = [&] {
      const at::Tensor y = Network(tensors, &unused).run({{"n", BatchNorm{epsilon}, 0}}, x);
      return (y * random({3, 2, 2, 2}, 1.0, 100)).sum();
    };
    x.requires_grad_(true);
    const auto gradient = torch::autograd::grad({loss()}, {x}).front().contiguous();
    const at::NoGradGuard without_gradients;
    for (std::int64_t i = 0; i < x.numel(); ++i) {
      const double before = x.data_ptr<double>()[i];
      x.data_ptr<double>()[i] = before + 1e-6;
      const double above = loss().item<double>();
      x.data_ptr<double>()[i] = before - 1e-6;
      const double below = loss().item<double>();
      x.data_ptr<double>()[i] = before;
      ASSERT_NEAR(gradient.data_ptr<double>()[i], (above - below) / 2e-6, 1e-6) << "epsilon " << epsilon;
    }
  }
}

at::Tensor in_evaluation(const Layer& layer, const at::Tensor& x) {
  const std::vector<at::Tensor> none;
  return Network(none, nullptr).run({layer}, x);
}

TEST(LayerValues, ShortcutATakesEverySecondPointAndAddsZeros) {
  const auto y = in_evaluation({"", PadChannels{.outputs = 3, .stride = 2}},
                               at::arange(9, at::kFloat).reshape({1, 1, 3, 3}));
  const auto expected = at::zeros({1, 3, 2, 2});
  expected[0][0] = at::tensor({0.0F, 2.0F, 6.0F, 8.0F}).reshape({2, 2});
  EXPECT_TRUE(y.equal(expected)) << y;
}

TEST(LayerValues, Relu6StopsAtSix) {
  EXPECT_TRUE(
      in_evaluation({"", Relu6{}}, at::tensor({-1.0F, 2.0F, 7.0F})).equal(at::tensor({0.0F, 2.0F, 6.0F})));
}

TEST(LayerValues, BranchesAreConcatenated) {
  const auto x = at::ones({1, 1, 2, 2});
  const auto y = in_evaluation({"", Branches{{{{"", PadChannels{.outputs = 2, .stride = 1}}}, {}}}}, x);
  EXPECT_TRUE(y.equal(at::cat({x, at::zeros_like(x), x}, 1))) << y;
}

TEST(LayerValues, ShiftDropsTheFirstRowAndColumn) {
  const auto y = in_evaluation({"", Shift{}}, at::arange(1, 5, at::kFloat).reshape({1, 1, 2, 2}));
  EXPECT_TRUE(y.equal(at::tensor({4.0F, 0.0F, 0.0F, 0.0F}).reshape({1, 1, 2, 2}))) << y;
}

/// Branches of a factor each: x is mixed with other shares in the backward pass than in the forward pass.
TEST(LayerValues, ShakeMixesItsBranchesAnewInEachPass) {
  const std::vector<at::Tensor> factors = {at::full({1, 1, 1, 1}, 3.0), at::full({1, 1, 1, 1}, 5.0)};
  const Convolution times = {.outputs = 1, .kernel = 1, .bias = false};
  const Layer shake = {"", Shake{{{"f", times, 0}}, {{"s", times, 1}}, {}}};
  at::Tensor x = at::tensor({1.0, 2.0, 4.0}, at::kFloat).reshape({3, 1, 1, 1});
  EXPECT_TRUE(Network(factors, nullptr).run({shake}, x).allclose(5.0 * x)) << "1 + 3 / 2 + 5 / 2";
  Rng drawn(seed), again(seed);
  x.requires_grad_(true);
  const at::Tensor y = Network(factors, &drawn).run({shake}, x);
  const at::Tensor gradient = torch::autograd::grad({y.sum()}, {x}).front();
  std::vector<double> forward(3), backward(3);
  for (double& share : forward) share = again.uniform();
  for (double& share : backward) share = again.uniform();
  for (std::int64_t i = 0; i < 3; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const double value = x[i].item<double>() * (1.0 + 3.0 * forward[at] + 5.0 * (1.0 - forward[at]));
    EXPECT_NEAR(y[i].item<double>(), value, 1e-5);
    EXPECT_NEAR(gradient[i].item<double>(), 1.0 + 3.0 * backward[at] + 5.0 * (1.0 - backward[at]), 1e-5);
  }
}

TEST(LayerValues, DropoutZeroesAShareAndKeepsTheMean) {
  const auto x = at::ones({100, 1000});
  EXPECT_TRUE(in_evaluation({"", Dropout{0.3}}, x).equal(x));
  const std::vector<at::Tensor> none;
  const auto in_training = [&](std::uint64_t stream) {
    Rng rng(stream);
    return Network(none, &rng).run({{"", Dropout{0.3}}}, x);
  };
  const auto y = in_training(1);
  EXPECT_NEAR(y.eq(0).to(at::kFloat).mean().item<double>(), 0.3, 0.01);
  EXPECT_NEAR(y.mean().item<double>(), 1.0, 0.01);
  EXPECT_FLOAT_EQ(y.max().item<float>(), 1.0F / 0.7F);
  EXPECT_TRUE(y.equal(in_training(1)));
  EXPECT_FALSE(y.equal(in_training(2)));
}

}  // namespace TANDEM_FILE
}  // namespace tandem
