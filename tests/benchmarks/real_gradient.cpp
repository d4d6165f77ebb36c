#include "tests/benchmarks/real_gradient.hpp"

#include "workloads/data/dataset.hpp"
#include "workloads/learner/learner.hpp"
#include "workloads/model/optimizer.hpp"

namespace tandem {
namespace {

std::vector<float> gradient_of_resnet() {
  constexpr int images = 8, steps = 3;
  const auto dataset = load_dataset(
      {.name = "synthetic-colour", .directory = "", .train_samples = images, .test_samples = 1, .seed = 1});
  const LearnerSetting setting{
      .model = "resnet18", .dataset = dataset->info(), .bucket_bytes = Bytes(4 << 20)};
  const auto learner = make_learner(setting, host_device());
  const ModelDescription& model = learner->description();
  Sgd sgd(0.01, 0.9, 0.0, model.elements());
  for (int step = 0; step < steps; ++step) {
    if (step > 0) apply_update(sgd, model, 0, learner->model(), learner->gradient(), 1.0);
    learner->load(dataset->records(Dataset::Part::train));
    learner->forward();
    for (int bucket = 0; bucket < static_cast<int>(model.buckets.size()); ++bucket) learner->backward(bucket);
  }
  return {learner->gradient().begin(), learner->gradient().end()};
}

}  // namespace

std::function<std::vector<float>()> real_gradient() { return gradient_of_resnet; }

}  // namespace tandem
