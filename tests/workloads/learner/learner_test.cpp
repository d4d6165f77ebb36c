// The learner against networks written with torch::nn and differentiated as a whole, and against finite
// differences; and the properties that data-parallel training, checkpoints and simulated actors need.
#include "workloads/learner/learner.hpp"

#include <gtest/gtest.h>
#include <ucontext.h>

#include <cmath>
#include <map>

#include "policies/vocabulary/rng.hpp"
#include "tests/workloads/learner/learner_probe.hpp"
#include "tests/workloads/learner/reference_models.hpp"
#include "workloads/model/optimizer.hpp"

namespace tandem {
namespace TANDEM_FILE {

std::shared_ptr<const Dataset> images(std::int64_t train, const std::string& name = "synthetic") {
  return load_dataset({.name = name, .directory = "", .train_samples = train, .test_samples = 64, .seed = 5});
}

LearnerSetting setting(const std::string& model, const DatasetInfo& info, std::int64_t bucket_bytes,
                       std::uint64_t seed = 1) {
  return {.model = model, .dataset = info, .bucket_bytes = Bytes(bucket_bytes), .seed = seed};
}

double largest_difference(std::span<const float> one, std::span<const float> other) {
  double largest = one.size() == other.size() ? 0.0 : INFINITY;
  for (std::size_t i = 0; i < std::min(one.size(), other.size()); ++i)
    largest = std::max(largest, std::abs(static_cast<double>(one[i]) - static_cast<double>(other[i])));
  return largest;
}

struct Case {
  std::string model;
  std::string dataset;
  std::int64_t bucket_bytes;
};
void PrintTo(const Case& value, std::ostream* out) {
  *out << value.model << " on " << value.dataset << ", bucket_bytes " << value.bucket_bytes;
}

class AgainstAutograd : public ::testing::TestWithParam<Case> {};

TEST_P(AgainstAutograd, SameLossGradientAndStatistics) {
  const auto& [model, name, bucket_bytes] = GetParam();
  const auto dataset = images(8, name);
  const auto& info = dataset->info();
  const auto learner = make_learner(setting(model, info, bucket_bytes));
  auto reference = reference::make(model, info.channels);
  std::map<std::string, at::Tensor> tensors;
  for (const auto& item : reference->named_parameters()) tensors[item.key()] = item.value();
  for (const auto& item : reference->named_buffers())
    if (item.key().find("num_batches") == std::string::npos) tensors[item.key()] = item.value();
  ASSERT_EQ(tensors.size(), learner->description().tensors.size());
  {
    const torch::NoGradGuard guard;
    for (const auto& tensor : learner->description().tensors)
      tensors.at(tensor.name).copy_(window(learner->model(), tensor));
  }

  const auto records = dataset->records(Dataset::Part::train);
  const auto bytes = torch::from_blob(const_cast<std::byte*>(records.data()),
                                      {8, info.record_bytes().count()}, torch::kUInt8);
  const auto pixels =
      ((bytes.narrow(1, 1, info.record_bytes().count() - 1).to(torch::kFloat) / 255.0F - info.mean) /
       info.deviation)
          .reshape({8, info.channels, info.height, info.width});
  const auto labels = bytes.select(1, 0).to(torch::kLong);
  const auto loss = torch::nn::functional::cross_entropy(reference->forward(pixels), labels);
  loss.backward();

  EXPECT_NEAR(differentiate(*learner, records), loss.item<double>(), 1e-6);
  for (const auto& tensor : learner->description().tensors) {
    const auto& expected = tensor.statistic ? tensors.at(tensor.name) : tensors.at(tensor.name).grad();
    const auto found = window(learner->gradient(), tensor);
    EXPECT_LE((found - expected).abs().max().item<double>(), 1e-6) << tensor.name;
    if (tensor.statistic) {
      EXPECT_TRUE(found.equal(window(learner->model(), tensor))) << tensor.name;
    } else {
      EXPECT_GT(found.abs().max().item<double>(), 0.0) << tensor.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, AgainstAutograd,
                         ::testing::Values(Case{"mlp", "synthetic", 1}, Case{"lenet", "synthetic", 65536},
                                           Case{"resnet18", "synthetic-colour", 1 << 20}));
INSTANTIATE_TEST_SUITE_P(LongModels, AgainstAutograd,
                         ::testing::Values(Case{"mlp", "synthetic", 0}, Case{"lenet", "synthetic", 0},
                                           Case{"lenet", "synthetic", 1},
                                           Case{"resnet18", "synthetic-colour", 0},
                                           Case{"resnet18", "synthetic", 1}));

TEST(Learner, GradientOfMlpMatchesFiniteDifferences) {
  const auto dataset = images(16);
  const auto records = dataset->records(Dataset::Part::train);
  const auto learner = make_learner(setting("mlp", dataset->info(), 1));
  differentiate(*learner, records);
  const auto gradient = copy_of(learner->gradient());
  const auto start = copy_of(learner->model());
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    // A random direction close to the gradient, so that the slope is well above the rounding noise of single
    // precision.
    Rng rng(seed);
    std::vector<double> direction(gradient.size());
    double length = 0.0;
    for (std::size_t i = 0; i < direction.size(); ++i) {
      direction[i] = static_cast<double>(gradient[i]) * (0.5 + rng.uniform());
      length += direction[i] * direction[i];
    }
    double expected = 0.0;
    for (std::size_t i = 0; i < direction.size(); ++i) {
      direction[i] /= std::sqrt(length);
      expected += direction[i] * static_cast<double>(gradient[i]);
    }
    const double step = 2e-3;
    const auto loss_at = [&](double distance) {
      for (std::size_t i = 0; i < start.size(); ++i)
        learner->model()[i] = static_cast<float>(static_cast<double>(start[i]) + distance * direction[i]);
      return loss_of_forward(*learner);
    };
    const double slope = (loss_at(step) - loss_at(-step)) / (2 * step);
    EXPECT_NEAR(slope, expected, 0.01 * expected) << "seed " << seed;
  }
}

TEST(Learner, MeanOfSplitBatchesIsTheWholeBatch) {
  const auto dataset = images(64);
  const auto records = dataset->records(Dataset::Part::train);
  for (const auto* model : {"mlp", "lenet"}) {
    const auto whole = make_learner(setting(model, dataset->info(), 65536));
    const double loss = differentiate(*whole, records);
    std::vector<float> mean(whole->gradient().size());
    double mean_loss = 0.0;
    for (std::size_t part = 0; part < 4; ++part) {
      const auto learner = make_learner(setting(model, dataset->info(), 65536));
      mean_loss +=
          differentiate(*learner, records.subspan(part * records.size() / 4, records.size() / 4)) / 4;
      for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += learner->gradient()[i] / 4;
    }
    EXPECT_NEAR(loss, mean_loss, 1e-5) << model;
    EXPECT_LE(largest_difference(mean, whole->gradient()), 1e-5) << model;
  }
}

TEST(Learner, SameSeedSameBits) {
  const auto dataset = images(4, "synthetic-colour");
  const auto records = dataset->records(Dataset::Part::train);
  const auto one = make_learner(setting("resnet18", dataset->info(), 1 << 20, 3));
  const auto two = make_learner(setting("resnet18", dataset->info(), 1 << 20, 3));
  const auto other = make_learner(setting("resnet18", dataset->info(), 1 << 20, 4));
  EXPECT_EQ(copy_of(one->model()), copy_of(two->model()));
  EXPECT_NE(copy_of(one->model()), copy_of(other->model()));
  EXPECT_EQ(differentiate(*one, records), differentiate(*two, records));
  EXPECT_EQ(copy_of(one->gradient()), copy_of(two->gradient()));
  EXPECT_EQ(copy_of(one->model()), copy_of(two->model()));
}

TEST(Learner, StatisticsArePartOfTheFlatModel) {
  const auto dataset = images(4, "synthetic-colour");
  const auto records = dataset->records(Dataset::Part::train);
  const auto trained = make_learner(setting("resnet18", dataset->info(), 1 << 20, 1));
  const auto fresh = make_learner(setting("resnet18", dataset->info(), 1 << 20, 2));
  auto before = copy_of(trained->model());
  differentiate(*trained, records);
  for (const auto& tensor : trained->description().tensors) {
    const auto now = window(trained->model(), tensor);
    EXPECT_EQ(!now.equal(window(before, tensor)), tensor.statistic) << tensor.name;
  }
  std::ranges::copy(trained->model(), fresh->model().begin());
  EXPECT_EQ(fresh->evaluate(records).loss, trained->evaluate(records).loss);
}

TEST(Learner, EvaluationHasNoSideEffects) {
  const auto dataset = images(300, "synthetic-colour");
  const auto records = dataset->records(Dataset::Part::train);
  const auto batch = records.first(records.size() / 75);
  const auto learner = make_learner(setting("resnet18", dataset->info(), 1 << 20));
  const auto untouched = make_learner(setting("resnet18", dataset->info(), 1 << 20));
  learner->load(batch);
  learner->forward();
  learner->backward(0);
  const auto model = copy_of(learner->model());
  const auto gradient = copy_of(learner->gradient());
  const auto result = learner->evaluate(records.last(records.size() / 20));
  EXPECT_EQ(copy_of(learner->model()), model);
  EXPECT_EQ(copy_of(learner->gradient()), gradient);
  for (int bucket = 1; bucket < static_cast<int>(learner->description().buckets.size()); ++bucket)
    learner->backward(bucket);
  differentiate(*untouched, batch);
  EXPECT_EQ(copy_of(learner->gradient()), copy_of(untouched->gradient()));
  EXPECT_GT(result.loss, 0.0);
}

TEST(Learner, EvaluationIsTheMeanOverChunks) {
  const auto dataset = images(600);
  const auto records = dataset->records(Dataset::Part::train);
  const auto learner = make_learner(setting("lenet", dataset->info(), 0));
  const auto all = learner->evaluate(records);
  double loss = 0.0;
  double accuracy = 0.0;
  for (std::size_t part = 0; part < 6; ++part) {
    const auto result = learner->evaluate(records.subspan(part * records.size() / 6, records.size() / 6));
    loss += result.loss / 6;
    accuracy += result.accuracy / 6;
  }
  EXPECT_NEAR(all.loss, loss, 1e-6);
  EXPECT_NEAR(all.accuracy, accuracy, 1e-12);
}

/// Without weights, the outputs are the last layer's biases: the five largest are those of classes 5 to 9.
TEST(Learner, TopFiveAreTheLargestOutputs) {
  const auto dataset = images(600);
  const auto learner = make_learner(setting("lenet", dataset->info(), 0));
  std::ranges::fill(learner->model(), 0.0F);
  window(learner->model(), learner->description().tensors.back()).copy_(at::arange(10));
  std::map<bool, int> labels;
  for (const std::uint16_t label : dataset->train_labels()) ++labels[label >= 5];
  const auto result = learner->evaluate(dataset->records(Dataset::Part::train));
  EXPECT_NEAR(result.top5_accuracy, labels[true] / 600.0, 1e-12);
  EXPECT_LT(result.accuracy, result.top5_accuracy);
}

TEST(LongLearner, LenetLearnsFashionMnist) {
  const auto dataset = load_dataset(
      {.name = "fashion-mnist", .directory = "", .train_samples = 5'000, .test_samples = 1'000, .seed = 0});
  const auto records = dataset->records(Dataset::Part::train);
  const auto batch = 50 * static_cast<std::size_t>(dataset->info().record_bytes().count());
  const auto learner = make_learner(setting("lenet", dataset->info(), 65536));
  Sgd sgd(0.05, 0.9, 5e-4, learner->description().elements());
  const double first_loss = learner->evaluate(records).loss;
  for (std::size_t step = 0; step < 100; ++step) {
    differentiate(*learner, records.subspan(step * batch, batch));
    apply_update(sgd, learner->description(), 0, learner->model(), learner->gradient(), 1.0);
  }
  EXPECT_NEAR(first_loss, std::log(10.0), 0.1);
  EXPECT_LT(learner->evaluate(records).loss, 0.4 * first_loss);
  EXPECT_GT(learner->evaluate(dataset->records(Dataset::Part::test)).accuracy, 0.7);
}

TEST(LongLearner, ResnetLearnsSyntheticImages) {
  const auto dataset = images(8);
  const auto records = dataset->records(Dataset::Part::train);
  const auto learner = make_learner(setting("resnet18", dataset->info(), 1 << 20));
  Sgd sgd(0.02, 0.9, 5e-4, learner->description().elements());
  const double first_loss = differentiate(*learner, records);
  double loss = first_loss;
  for (int step = 0; step < 6; ++step) {
    loss = differentiate(*learner, records);
    apply_update(sgd, learner->description(), 0, learner->model(), learner->gradient(), 1.0);
  }
  EXPECT_LT(loss, 0.5 * first_loss);
}

TEST(Learner, NextBatchMayBeLoadedBeforeBackwardEnds) {
  const auto dataset = images(32);
  const auto records = dataset->records(Dataset::Part::train);
  const auto half = records.size() / 2;
  const auto plain = make_learner(setting("lenet", dataset->info(), 1));
  const auto ahead = make_learner(setting("lenet", dataset->info(), 1));
  differentiate(*plain, records.first(half));
  ahead->load(records.first(half));
  ahead->forward();
  ahead->backward(0);
  ahead->load(records.last(half));
  for (int bucket = 1; bucket < 4; ++bucket) ahead->backward(bucket);
  EXPECT_EQ(copy_of(ahead->gradient()), copy_of(plain->gradient()));
  plain->load(records.last(half));
  EXPECT_EQ(loss_of_forward(*ahead), loss_of_forward(*plain));
}

TEST(Learner, APassMayBeginBeforeTheBackwardOfAnotherEnds) {
  const auto dataset = images(32);
  const auto records = dataset->records(Dataset::Part::train);
  const auto half = records.size() / 2;
  const auto plain = make_learner(setting("lenet", dataset->info(), 1));
  const auto stopped = make_learner(setting("lenet", dataset->info(), 1));
  for (int computed = 0; computed < 4; ++computed) {
    stopped->load(records.first(half));
    stopped->forward();
    for (int bucket = 0; bucket < computed; ++bucket) stopped->backward(bucket);
    EXPECT_EQ(differentiate(*stopped, records.last(half)), differentiate(*plain, records.last(half)));
    EXPECT_EQ(copy_of(stopped->gradient()), copy_of(plain->gradient()));
  }
}

TEST(LearnerDeathTest, BucketsGoInOrder) {
  const auto dataset = images(4);
  const auto learner = make_learner(setting("mlp", dataset->info(), 1));
  EXPECT_DEATH(learner->forward(), "forward before load");
  EXPECT_DEATH(learner->loss(), "loss before forward");
  learner->load(dataset->records(Dataset::Part::train));
  EXPECT_DEATH(learner->backward(0), "bucket 0 expected -1");
  learner->forward();
  EXPECT_DEATH(learner->backward(1), "expected 0");
}

/// Two learners alternate after every operation, each on a separate stack, in one thread: like actors of a
/// simulation.
class Turns {
 public:
  static constexpr std::size_t stack_bytes = std::size_t{8} << 20;
  explicit Turns(const Dataset& dataset) : dataset_(dataset) {
    current_ = this;
    prepare(0, &run<0>);
    prepare(1, &run<1>);
  }
  /// The gradient of each actor.
  std::vector<std::vector<float>> play() {
    while (!done_[0] || !done_[1])
      for (int actor = 0; actor < 2; ++actor)
        if (!done_[actor]) swapcontext(&main_, &contexts_[actor]);
    return gradients_;
  }

 private:
  template <int actor>
  static void run() {
    current_->act(actor);
  }
  void prepare(std::size_t actor, void (*body)()) {
    getcontext(&contexts_[actor]);
    stacks_[actor].resize(stack_bytes);
    contexts_[actor].uc_stack.ss_sp = stacks_[actor].data();
    contexts_[actor].uc_stack.ss_size = stack_bytes;
    contexts_[actor].uc_link = &main_;
    makecontext(&contexts_[actor], body, 0);
  }
  void yield(int actor) { swapcontext(&contexts_[actor], &main_); }
  void act(int actor) {
    const auto learner =
        make_learner(setting("lenet", dataset_.info(), 1, static_cast<std::uint64_t>(actor + 1)));
    yield(actor);
    learner->load(dataset_.records(Dataset::Part::train));
    yield(actor);
    learner->forward();
    for (int bucket = 0; bucket < 4; ++bucket) {
      yield(actor);
      learner->backward(bucket);
    }
    gradients_[static_cast<std::size_t>(actor)] = copy_of(learner->gradient());
    done_[actor] = true;
  }

  inline static Turns* current_ = nullptr;
  const Dataset& dataset_;
  ucontext_t main_{};
  ucontext_t contexts_[2]{};
  std::vector<char> stacks_[2];
  bool done_[2] = {false, false};
  std::vector<std::vector<float>> gradients_ = std::vector<std::vector<float>>(2);
};

TEST(Learner, AlternatesWithAnotherOnOneThread) {
  const auto dataset = images(16);
  const auto together = Turns(*dataset).play();
  for (std::size_t actor = 0; actor < 2; ++actor) {
    const auto alone = make_learner(setting("lenet", dataset->info(), 1, actor + 1));
    differentiate(*alone, dataset->records(Dataset::Part::train));
    EXPECT_EQ(together[actor], copy_of(alone->gradient()));
  }
}

TEST(SummedGradients, AreBatchTimesTheMeanGradientAndTheLossStaysTheMean) {
  const auto dataset = images(16);
  for (const bool keeps_losses : {false, true}) {
    LearnerSetting means = setting("lenet", dataset->info(), 1);
    means.sample_losses = keeps_losses;
    LearnerSetting sums = means;
    sums.sums_gradients = true;
    const auto mean = make_learner(means), sum = make_learner(sums);
    for (const auto& learner : {mean.get(), sum.get()})
      differentiate(*learner, dataset->records(Dataset::Part::train));
    EXPECT_EQ(sum->loss(), mean->loss());
    std::vector<float> expected = copy_of(mean->gradient());
    for (float& value : expected) value *= 16;
    EXPECT_LE(largest_difference(sum->gradient(), expected), 1e-5);
    EXPECT_GT(largest_difference(sum->gradient(), mean->gradient()), 0.01);
  }
}

TEST(SampleLosses, WeighTheGradientsOfTheSamples) {
  // gradient = sum of weight x own gradient / batch, each from a learner that has one sample only.
  constexpr std::size_t batch = 4;
  const std::vector<float> weights = {0.5F, 2.0F, 1.0F, 0.0F};
  const auto dataset = images(batch);
  LearnerSetting with_losses = setting("mlp", dataset->info(), 0);
  with_losses.sample_losses = true;
  const auto learner = make_learner(with_losses);
  learner->load(dataset->records(Dataset::Part::train));
  learner->weigh(weights);
  learner->forward();
  learner->backward(0);
  const auto single = make_learner(setting("mlp", dataset->info(), 0));
  std::vector<float> expected(learner->gradient().size());
  double loss = 0.0;
  for (std::size_t sample = 0; sample < batch; ++sample) {
    single->load(dataset->record(Dataset::Part::train, static_cast<SampleId>(sample)));
    single->forward();
    single->backward(0);
    EXPECT_NEAR(learner->sample_losses()[sample], single->loss(), 1e-5);
    loss += static_cast<double>(weights[sample]) * single->loss() / batch;
    for (std::size_t i = 0; i < expected.size(); ++i)
      expected[i] += weights[sample] * single->gradient()[i] / batch;
  }
  EXPECT_NEAR(learner->loss(), loss, 1e-5);
  EXPECT_LE(largest_difference(learner->gradient(), expected), 1e-6);
}

TEST(SampleLosses, WithoutWeightsTheMeanAndItsGradientAreThoseOfALearnerWithoutThem) {
  const auto dataset = images(16);
  LearnerSetting with_losses = setting("lenet", dataset->info(), 0);
  with_losses.sample_losses = true;
  const auto one = make_learner(with_losses), other = make_learner(setting("lenet", dataset->info(), 0));
  for (const auto& learner : {one.get(), other.get()}) {
    learner->load(dataset->records(Dataset::Part::train));
    learner->forward();
    learner->backward(0);
  }
  EXPECT_NEAR(one->loss(), other->loss(), 1e-6);
  EXPECT_LE(largest_difference(one->gradient(), other->gradient()), 1e-6);
}

}  // namespace TANDEM_FILE
}  // namespace tandem
