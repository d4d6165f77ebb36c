// The form of layers finds the rates that made a table, and tells networks with equal sums apart.
#include "policies/estimates/roofline.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace tandem::estimates {
namespace TANDEM_FILE {

constexpr double flop_s = 1e-11, byte_s = 5e-11, launch_s = 1e-5, constant_s = 5e-3;

/// 5 flops per byte divide the layers: the first ones have at least 100, the others at most 1.
std::vector<LayerDemand> network(int i) {
  std::vector<LayerDemand> layers;
  for (int j = 0; j < 3 + i % 5; ++j)
    layers.push_back({.flops = 1e9 * (1 + i + j), .bytes = 1e7 * (1 + j), .launches = 3});
  for (int j = 0; j < 2 + i * i % 7; ++j)
    layers.push_back({.flops = 2e7 * (1 + j), .bytes = 2e7 * (1 + i % 3 + j), .launches = 4});
  return layers;
}

double law(const std::vector<LayerDemand>& layers) {
  double sum = constant_s;
  for (const LayerDemand& layer : layers)
    sum += std::max(flop_s * layer.flops, byte_s * layer.bytes) + launch_s * layer.launches;
  return sum;
}

std::vector<FormPoint> made_points(int networks) {
  std::vector<FormPoint> points;
  for (int i = 0; i < networks; ++i) {
    const auto layers = network(i);
    points.push_back({{{1.0 * i}, layers}, law(layers), std::to_string(i)});
  }
  return points;
}

TEST(Roofline, FindsTheRatesOfALaw) {
  const auto form = fit_roofline(made_points(10)).fitted;
  ASSERT_TRUE(form && form->layer_times);
  EXPECT_NEAR(form->layer_times->flop_s, flop_s, 1e-5 * flop_s);
  EXPECT_NEAR(form->layer_times->byte_s, byte_s, 1e-5 * byte_s);
  EXPECT_NEAR(form->layer_times->launch_s, launch_s, 1e-3 * launch_s);
  ASSERT_EQ(form->terms.size(), 1U);
  EXPECT_NEAR(form->terms.front().coefficient, constant_s, 1e-3 * constant_s);
  EXPECT_LT(form->condition, 1e6);
}

/// As many flops and bytes, but with 100 and 0.1 flops per byte the bytes of the second layer take their
/// time, too.
TEST(Roofline, CountsEachLayerAndNotTheSum) {
  const auto form = fit_roofline(made_points(10)).fitted;
  ASSERT_TRUE(form);
  const std::vector<LayerDemand> unlike = {{.flops = 1e10, .bytes = 1e8}, {.flops = 1e7, .bytes = 1e8}};
  const std::vector<LayerDemand> alike = {{.flops = 5.005e9, .bytes = 1e8}, {.flops = 5.005e9, .bytes = 1e8}};
  const double slow = form->predict({{1.0}, unlike}), fast = form->predict({{1.0}, alike});
  EXPECT_NEAR(slow, constant_s + 0.1 + 0.005, 1e-5);
  EXPECT_NEAR(fast, constant_s + 0.1001, 1e-5);
}

/// A table in which more launches go with less time.
TEST(Roofline, HasNoTimeBelowZero) {
  std::vector<FormPoint> points;
  for (int i = 1; i <= 8; ++i)
    points.push_back({{{1.0}, {{.flops = 1e9 * i, .bytes = 1e6, .launches = 100.0 / i}}}, 0.01 * i, "net"});
  const auto form = fit_roofline(points).fitted;
  ASSERT_TRUE(form);
  EXPECT_NEAR(form->layer_times->flop_s, 1e-11, 1e-16);
  EXPECT_NEAR(form->layer_times->launch_s, 0.0, 1e-12);
}

TEST(Roofline, NeedsLayersAndPoints) {
  std::vector<FormPoint> points = made_points(4);
  EXPECT_EQ(fit_roofline(points).reason, "4 points for 4 coefficients");
  points.push_back({{{1.0}}, 1.0, "without"});
  EXPECT_EQ(fit_roofline(points).reason, "layers that are not known");
}

}  // namespace TANDEM_FILE
}  // namespace tandem::estimates
