#include "runtime/gpu/cuda_factors.hpp"

#include <vector>

#include "policies/compression/packing.hpp"
#include "policies/compression/power_sgd.hpp"
#include "runtime/gpu/cuda_check.hpp"
#include "runtime/gpu/cuda_device.hpp"
#include "runtime/gpu/kernels.hpp"
#include "runtime/gpu/uploaded.hpp"

namespace tandem {
namespace {

using compression::FactorForm;

static_assert(kernels::sums_of_columns == compression::sums_of_dot, "the same order of sums");

class CudaFactors final : public compression::SharedFactors {
 public:
  CudaFactors(CudaDevice& device, const compression::Setting& setting)
      : device_(device), setting_(setting), form_(setting) {}

  std::int64_t left_elements() const override { return static_cast<std::int64_t>(form_.left_size); }
  std::int64_t right_elements() const override { return static_cast<std::int64_t>(form_.right_size); }

  void project(std::span<const float> values, std::span<float> left) override {
    prepare();
    queue("project_on_right", kernels::project_on_right, values.data(), start_.data(), left.data());
    copies_.clear();
    for (const FactorForm::Plain& plain : form_.plain)
      copies_.push_back({left.data() + plain.at, values.data() + plain.part.begin, plain.part.size()});
    device_.copy_all(copies_);
  }

  void orthonormalise(std::span<float> left) const override {
    queue("orthonormalise", kernels::orthonormalise, compression::negligible_column, left.data());
  }

  void reproject(std::span<const float> values, std::span<const float> left,
                 std::span<float> right) const override {
    queue("project_on_left", kernels::project_on_left, values.data(), left.data(), right.data());
  }

  void expand(std::span<const float> left, std::span<const float> right,
              std::span<float> values) const override {
    queue("expand_factors", kernels::expand_factors, left.data(), right.data(), values.data());
    copies_.clear();
    for (const FactorForm::Plain& plain : form_.plain)
      copies_.push_back({values.data() + plain.part.begin, left.data() + plain.at, plain.part.size()});
    device_.copy_all(copies_);
  }

  void copy_plain(std::span<const float> from, std::span<float> to) const override {
    copies_.clear();
    for (const FactorForm::Plain& plain : form_.plain)
      copies_.push_back({to.data() + plain.part.begin, from.data() + plain.part.begin, plain.part.size()});
    device_.copy_all(copies_);
  }

  void keep(std::span<const float> right) override {
    queue("keep_factors", kernels::keep_factors, right.data(), start_.data());
  }

  std::span<float> learnt() override {
    prepare();
    return start_.span();
  }

 private:
  /// Tables and first factors, created on first use.
  void prepare() {
    prepare_tables();
    if (start_.empty()) start_ = uploaded(device_, form_.start(setting_));
  }

  /// A receiver only expands.
  void prepare_tables() const {
    if (!matrices_.empty() || form_.matrices.empty()) return;
    std::vector<kernels::FactorMatrix> matrices;
    std::vector<kernels::FactorTile> by_rows, by_columns;
    const auto add_tiles = [&](std::vector<kernels::FactorTile>& tiles, std::int64_t size) {
      for (std::int64_t first = 0; first < size; first += kernels::factor_tile)
        tiles.push_back({std::ssize(matrices), first});
    };
    for (const FactorForm::Matrix& matrix : form_.matrices) {
      add_tiles(by_rows, matrix.part.rows);
      add_tiles(by_columns, matrix.part.columns);
      matrices.push_back({matrix.part.begin, matrix.part.rows, matrix.part.columns,
                          static_cast<std::int64_t>(matrix.left), static_cast<std::int64_t>(matrix.right)});
    }
    matrices_ = uploaded(device_, matrices);
    by_rows_ = uploaded(device_, by_rows);
    by_columns_ = uploaded(device_, by_columns);
  }

  template <class... Wanted, class... Given>
  void queue(const char* name, cudaError_t (*launcher)(const kernels::FactorStretch&, Wanted...),
             Given... given) const {
    prepare_tables();
    device_.enter();
    const kernels::FactorStretch stretch = {static_cast<int>(form_.rank),
                                            matrices_.data(),
                                            static_cast<std::int64_t>(matrices_.size()),
                                            by_rows_.data(),
                                            static_cast<std::int64_t>(by_rows_.size()),
                                            by_columns_.data(),
                                            static_cast<std::int64_t>(by_columns_.size())};
    check_cuda(launcher(stretch, given..., device_.queue_in_use()), name, device_.gpu());
  }

  CudaDevice& device_;
  compression::Setting setting_;
  FactorForm form_;
  mutable DeviceArray<kernels::FactorMatrix> matrices_;
  mutable DeviceArray<kernels::FactorTile> by_rows_;
  mutable DeviceArray<kernels::FactorTile> by_columns_;
  mutable std::vector<FloatCopy> copies_;  ///< of the parts that are sent uncompressed, of the last call
  FloatArray start_;
};

/// A message has the left factors, then the right ones.
class CudaPowerSgd final : public compression::Codec {
 public:
  CudaPowerSgd(CudaDevice& device, const compression::Setting& setting)
      : elements_(setting.stretch.elements), factors_(device, setting) {}

  std::int64_t message_bytes() const override {
    return (factors_.left_elements() + factors_.right_elements()) * static_cast<std::int64_t>(sizeof(float));
  }

  void encode(std::span<const float> values, std::int64_t, std::span<std::byte> message) override {
    compression::check_sizes(values.size(), elements_, message.size(), message_bytes());
    const std::span<float> both(reinterpret_cast<float*>(message.data()), message.size() / sizeof(float));
    const auto left = both.first(left_size()), right = both.subspan(left_size());
    factors_.project(values, left);
    factors_.orthonormalise(left);
    factors_.reproject(values, left, right);
    factors_.keep(right);
  }

  void decode(std::span<const std::byte> message, std::int64_t, std::span<float> values) override {
    compression::check_sizes(values.size(), elements_, message.size(), message_bytes());
    const std::span<const float> both(reinterpret_cast<const float*>(message.data()),
                                      message.size() / sizeof(float));
    factors_.expand(both.first(left_size()), both.subspan(left_size()), values);
  }

  std::span<float> learnt() override { return factors_.learnt(); }

 private:
  std::size_t left_size() const { return static_cast<std::size_t>(factors_.left_elements()); }

  std::int64_t elements_;
  CudaFactors factors_;
};

}  // namespace

std::unique_ptr<compression::SharedFactors> make_cuda_factors(CudaDevice& device,
                                                              const compression::Setting& setting) {
  return std::make_unique<CudaFactors>(device, setting);
}

std::unique_ptr<compression::Codec> make_cuda_power_sgd(CudaDevice& device,
                                                        const compression::Setting& setting) {
  return std::make_unique<CudaPowerSgd>(device, setting);
}

}  // namespace tandem
