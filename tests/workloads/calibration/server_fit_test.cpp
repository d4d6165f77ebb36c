// Costs of a server from training speeds: fits to closed forms.
#include "workloads/calibration/server_fit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "policies/vocabulary/rng.hpp"
#include "workloads/calibration/compute_speed.hpp"

namespace tandem {
namespace TANDEM_FILE {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Asynchronous workers over one server: limited by their own steps, or by the server.
class ServerFits : public ::testing::Test {
 protected:
  struct Model {
    std::string name;
    double step_s;  ///< of a worker, without the server
    int tensors;
    std::int64_t bytes;
  };
  static inline const Model small{"small", 0.02, 6, 200'000};
  static inline const Model deep{"deep", 0.05, 160, 2'000'000};
  static inline const Model wide{"wide", 0.08, 12, 30'000'000};

  double speed(const ServerCost& cost, const Model& model, int workers) const {
    const auto time = [&](Work::Kind kind) {
      return cost.time_of({.kind = kind, .bytes = Bytes(model.bytes), .tensors = model.tensors}).count();
    };
    const double service_s = time(Work::Kind::push) + time(Work::Kind::reply);
    return std::min(workers / (model.step_s + service_s), 1 / service_s);
  }

  ServerFit fit(const std::vector<Model>& models, const std::vector<int>& workers, double noise = 0.0) {
    std::vector<ServerFitRow> rows;
    std::vector<std::pair<Model, int>> jobs;
    Rng random = Rng::stream(7, "noise of a table");
    for (const auto& model : models)
      for (const int count : workers) {
        jobs.emplace_back(model, count);
        rows.push_back({model.name, speed(truth_, model, count) * (1 + noise * random.normal()),
                        model.tensors, Bytes(model.bytes)});
      }
    return fit_server_cost(rows, [&](const std::vector<ServerCost>& costs) {
      std::vector<std::vector<double>> speeds;
      for (const auto& cost : costs) {
        auto& of_cost = speeds.emplace_back();
        for (const auto& [model, count] : jobs)
          of_cost.push_back(is_flat_at(cost) ? 1.0 : speed(cost, model, count));
      }
      return speeds;
    });
  }

  /// Around the first start of a search, where nothing changes with the costs.
  bool is_flat_at(const ServerCost& cost) const {
    if (!has_plateau_ || cost.tensor == Seconds(0)) return false;
    const double ratio = cost.message / (cost.tensor * deep.tensors);
    return ratio > 0.5 && ratio < 2.0;
  }

  static double relative(Seconds found, Seconds expected) { return found / expected - 1.0; }

  bool has_plateau_ = false;
  ServerCost truth_{.message = Seconds(2e-3),
                    .tensor = Seconds(60e-6),
                    .push_rate = BytesPerSecond(1e9),
                    .reply_rate = BytesPerSecond(1e9)};
};

TEST_F(ServerFits, FindTheNumbersOfThreeModels) {
  const ServerFit found = fit({small, deep, wide}, {1, 2, 4, 8, 16});
  EXPECT_NEAR(relative(found.cost.message, truth_.message), 0, 1e-3);
  EXPECT_NEAR(relative(found.cost.tensor, truth_.tensor), 0, 1e-3);
  ASSERT_TRUE(found.cost.push_rate && found.cost.reply_rate);
  EXPECT_NEAR(*found.cost.push_rate / *truth_.push_rate, 1, 1e-3);
  EXPECT_EQ(*found.cost.push_rate, *found.cost.reply_rate);
  EXPECT_LT(found.error, 1e-3);
  EXPECT_THAT(found.warnings, IsEmpty());
  EXPECT_LT(found.predictions, 40);
}

TEST_F(ServerFits, BearNoise) {
  const ServerFit found = fit({small, deep, wide}, {1, 2, 4, 8, 16}, 0.02);
  EXPECT_NEAR(relative(found.cost.message, truth_.message), 0, 0.1);
  EXPECT_NEAR(relative(found.cost.tensor, truth_.tensor), 0, 0.1);
  EXPECT_NEAR(*found.cost.push_rate / *truth_.push_rate, 1, 0.1);
  EXPECT_GT(found.error, 0.005);
  EXPECT_LT(found.error, 0.04);
}

/// Much cheaper and much dearer servers than where the search begins.
TEST_F(ServerFits, FindNumbersFarFromEachOther) {
  for (const double factor : {0.05, 20.0}) {
    truth_ = {.message = Seconds(2e-3 * factor),
              .tensor = Seconds(60e-6 * factor),
              .push_rate = BytesPerSecond(1e9 / factor),
              .reply_rate = BytesPerSecond(1e9 / factor)};
    const ServerFit found = fit({small, deep, wide}, {1, 2, 4, 8, 16, 256});
    EXPECT_NEAR(relative(found.cost.message, truth_.message), 0, 0.01) << factor;
    EXPECT_NEAR(relative(found.cost.tensor, truth_.tensor), 0, 0.01) << factor;
    EXPECT_NEAR(*found.cost.push_rate / *truth_.push_rate, 1, 0.01) << factor;
  }
}

TEST_F(ServerFits, SearchAgainFromAnotherStart) {
  has_plateau_ = true;
  const ServerFit found = fit({small, deep, wide}, {1, 2, 4, 8, 16});
  EXPECT_NEAR(relative(found.cost.message, truth_.message), 0, 0.1);
  EXPECT_NEAR(relative(found.cost.tensor, truth_.tensor), 0, 0.1);
  EXPECT_LT(found.error, 0.03);
}

TEST_F(ServerFits, OfOneModelHaveOneNumberAndSaySo) {
  const ServerFit found = fit({deep}, {1, 4, 16});
  const double whole_s = 1 / (2 * speed(truth_, deep, 1000));
  EXPECT_NEAR(found.cost.message.count(), whole_s, 1e-3 * whole_s);
  EXPECT_EQ(found.cost.tensor, Seconds(0));
  EXPECT_FALSE(found.cost.push_rate);
  EXPECT_THAT(found.warnings,
              Contains(HasSubstr("the rates of bytes and the time per tensor cannot be told")));
}

TEST_F(ServerFits, OfTwoModelsHaveTwoNumbers) {
  truth_.tensor = Seconds(0);
  const ServerFit found = fit({small, wide}, {1, 4, 16});
  EXPECT_NEAR(relative(found.cost.message, truth_.message), 0, 1e-3);
  EXPECT_NEAR(*found.cost.push_rate / *truth_.push_rate, 1, 1e-3);
  EXPECT_THAT(found.warnings, Contains(HasSubstr("the time per tensor cannot be told")));
}

TEST_F(ServerFits, SayThatAServerWasNeverBusy) {
  truth_ = {.message = Seconds(20e-6)};
  const ServerFit found = fit({small, deep, wide}, {1, 2});
  EXPECT_THAT(found.warnings,
              Contains(HasSubstr("in no row of the table does the server make up more than")));
}

TEST_F(ServerFits, FindThatANumberIsZero) {
  truth_.tensor = Seconds(0);
  const ServerFit found = fit({small, deep, wide}, {1, 4, 16});
  EXPECT_NEAR(found.cost.tensor.count(), 0, 1e-3 * truth_.message.count() / deep.tensors);
  EXPECT_NEAR(relative(found.cost.message, truth_.message), 0, 2e-3);
}

// ---- This program's own server ----

TEST(OwnServerCost, IsThatOfSumsAndUpdates) {
  const auto entry = [](Work::Kind kind, std::int64_t bytes, double seconds) {
    return Profile::ComputeEntry{"m", kind, -1, 0, bytes, seconds, 0, {seconds}};
  };
  const auto both = own_server_cost({entry(Work::Kind::reduce, 1'000'000, 10e-6 + 1e-3),
                                     entry(Work::Kind::reduce, 2'000'000, 10e-6 + 2e-3),
                                     entry(Work::Kind::update, 1'000'000, 30e-6 + 3e-3),
                                     entry(Work::Kind::update, 2'000'000, 30e-6 + 6e-3)});
  ASSERT_TRUE(both);
  EXPECT_NEAR(both->message.count(), 20e-6, 1e-9);
  EXPECT_NEAR(both->push_rate->count(), 1e9 / 4, 1);
  EXPECT_FALSE(both->reply_rate);
  EXPECT_EQ(both->tensor, Seconds(0));
  EXPECT_FALSE(own_server_cost({entry(Work::Kind::update, 1, 1), entry(Work::Kind::update, 2, 2)}));
  EXPECT_FALSE(own_server_cost({}));
}

}  // namespace TANDEM_FILE
}  // namespace tandem
