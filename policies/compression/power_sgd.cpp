// PowerSGD (Vogels, Karimireddy, Jaggi, NeurIPS 2019). Each matrix is approximated by the product of two
// factors with `rank` columns, found by one step of subspace iteration from the right factor of the last
// exchange. Vectors, and matrices that would not get smaller, are sent uncompressed.
#include "policies/compression/power_sgd.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "policies/compression/methods.hpp"
#include "policies/compression/packing.hpp"
#include "policies/vocabulary/rng.hpp"

namespace tandem::compression {
namespace {

class LowRank final : public SharedFactors {
 public:
  explicit LowRank(const Setting& setting) : form_(setting), rank_(form_.rank), setting_(setting) {}

  std::int64_t left_elements() const override { return static_cast<std::int64_t>(form_.left_size); }
  std::int64_t right_elements() const override { return static_cast<std::int64_t>(form_.right_size); }

  void project(std::span<const float> values, std::span<float> left) override {
    if (start_.empty()) start_ = form_.start(setting_);
    for (const FactorForm::Matrix& matrix : form_.matrices) {
      const float* row = values.data() + matrix.part.begin;
      float* product = left.data() + matrix.left;
      for (std::int64_t i = 0; i < matrix.part.rows; ++i, row += matrix.part.columns, product += rank_)
        for (std::size_t k = 0; k < rank_; ++k) {
          const float* factor = start_.data() + matrix.right + k;
          float sum = 0.0F;
          for (std::int64_t j = 0; j < matrix.part.columns; ++j, factor += rank_) sum += row[j] * *factor;
          product[k] = sum;
        }
    }
    for (const FactorForm::Plain& plain : form_.plain)
      std::copy_n(values.data() + plain.part.begin, plain.part.size(), left.data() + plain.at);
  }

  void orthonormalise(std::span<float> left) const override {
    for (const FactorForm::Matrix& matrix : form_.matrices)
      orthonormalise_columns(left.subspan(matrix.left, rank_ * static_cast<std::size_t>(matrix.part.rows)));
  }

  void reproject(std::span<const float> values, std::span<const float> left,
                 std::span<float> right) const override {
    std::fill(right.begin(), right.end(), 0.0F);
    for (const FactorForm::Matrix& matrix : form_.matrices) {
      const float* row = values.data() + matrix.part.begin;
      const float* factor = left.data() + matrix.left;
      for (std::int64_t i = 0; i < matrix.part.rows; ++i, row += matrix.part.columns, factor += rank_) {
        float* sums = right.data() + matrix.right;
        for (std::int64_t j = 0; j < matrix.part.columns; ++j, sums += rank_)
          for (std::size_t k = 0; k < rank_; ++k) sums[k] += row[j] * factor[k];
      }
    }
  }

  void expand(std::span<const float> left, std::span<const float> right,
              std::span<float> values) const override {
    for (const FactorForm::Matrix& matrix : form_.matrices) {
      float* row = values.data() + matrix.part.begin;
      const float* of_row = left.data() + matrix.left;
      for (std::int64_t i = 0; i < matrix.part.rows; ++i, row += matrix.part.columns, of_row += rank_) {
        const float* of_column = right.data() + matrix.right;
        for (std::int64_t j = 0; j < matrix.part.columns; ++j, of_column += rank_) {
          float sum = 0.0F;
          for (std::size_t k = 0; k < rank_; ++k) sum += of_row[k] * of_column[k];
          row[j] = sum;
        }
      }
    }
    for (const FactorForm::Plain& plain : form_.plain)
      std::copy_n(left.data() + plain.at, plain.part.size(), values.data() + plain.part.begin);
  }

  void copy_plain(std::span<const float> from, std::span<float> to) const override {
    for (const FactorForm::Plain& plain : form_.plain)
      std::copy_n(from.data() + plain.part.begin, plain.part.size(), to.data() + plain.part.begin);
  }

  /// A column that has become zero keeps its old value, because subspace iteration cannot recover from a zero
  /// column.
  void keep(std::span<const float> right) override {
    for (const FactorForm::Matrix& matrix : form_.matrices)
      for (std::size_t k = 0; k < rank_; ++k) {
        const auto columns = static_cast<std::size_t>(matrix.part.columns);
        const auto at = [&](std::size_t j) { return matrix.right + j * rank_ + k; };
        bool empty = true;
        for (std::size_t j = 0; j < columns && empty; ++j) empty = right[at(j)] == 0.0F;
        for (std::size_t j = 0; j < columns && !empty; ++j) start_[at(j)] = right[at(j)];
      }
  }

  std::span<float> learnt() override {
    if (start_.empty()) start_ = form_.start(setting_);
    return start_;
  }

 private:
  /// The Gram-Schmidt process, twice for each column. A column that depends on earlier ones becomes zero.
  void orthonormalise_columns(std::span<float> factor) const {
    for (std::size_t k = 0; k < rank_; ++k) {
      const double before = std::sqrt(dot(factor, k, k));
      for (int pass = 0; pass < 2; ++pass)
        for (std::size_t earlier = 0; earlier < k; ++earlier) {
          const auto overlap = static_cast<float>(dot(factor, earlier, k));
          for (std::size_t i = 0; i < factor.size(); i += rank_)
            factor[i + k] -= overlap * factor[i + earlier];
        }
      const double length = std::sqrt(dot(factor, k, k));
      const auto scale = static_cast<float>(length <= negligible_column * before ? 0.0 : 1.0 / length);
      for (std::size_t i = 0; i < factor.size(); i += rank_) factor[i + k] *= scale;
    }
  }

  /// The product of two columns.
  double dot(std::span<const float> factor, std::size_t a, std::size_t b) const {
    std::array<double, sums_of_dot> sums = {};
    for (std::size_t row = 0, i = 0; i < factor.size(); ++row, i += rank_)
      sums[row % sums_of_dot] += static_cast<double>(factor[i + a]) * static_cast<double>(factor[i + b]);
    for (std::size_t half = sums_of_dot / 2; half > 0; half /= 2)
      for (std::size_t at = 0; at < half; ++at) sums[at] += sums[at + half];
    return sums[0];
  }

  FactorForm form_;
  std::size_t rank_;
  Setting setting_;
  std::vector<float> start_;  ///< right factors to start from
};

/// One worker's codec: both factors of its own matrices in one message.
class PowerSgd final : public Codec {
 public:
  explicit PowerSgd(const Setting& setting) : elements_(setting.stretch.elements), factors_(setting) {}

  std::int64_t message_bytes() const override {
    return (factors_.left_elements() + factors_.right_elements()) * static_cast<std::int64_t>(sizeof(float));
  }

  void encode(std::span<const float> values, std::int64_t, std::span<std::byte> message) override {
    check_sizes(values.size(), elements_, message.size(), message_bytes());
    resize();
    factors_.project(values, left_);
    factors_.orthonormalise(left_);
    factors_.reproject(values, left_, right_);
    factors_.keep(right_);
    const auto left = std::as_bytes(std::span(left_)), right = std::as_bytes(std::span(right_));
    std::copy(left.begin(), left.end(), message.begin());
    std::copy(right.begin(), right.end(), message.begin() + static_cast<std::ptrdiff_t>(left.size()));
  }

  void decode(std::span<const std::byte> message, std::int64_t, std::span<float> values) override {
    check_sizes(values.size(), elements_, message.size(), message_bytes());
    resize();
    const auto left = std::as_writable_bytes(std::span(left_));
    const auto right = std::as_writable_bytes(std::span(right_));
    std::copy_n(message.begin(), left.size(), left.begin());
    std::copy_n(message.begin() + static_cast<std::ptrdiff_t>(left.size()), right.size(), right.begin());
    factors_.expand(left_, right_, values);
  }

  std::span<float> learnt() override { return factors_.learnt(); }

 private:
  void resize() {
    left_.resize(static_cast<std::size_t>(factors_.left_elements()));
    right_.resize(static_cast<std::size_t>(factors_.right_elements()));
  }

  std::int64_t elements_;
  LowRank factors_;
  std::vector<float> left_;
  std::vector<float> right_;
};

std::unique_ptr<SharedFactors> make_shared_factors(const Setting& setting) {
  return std::make_unique<LowRank>(setting);
}

Efforts power_sgd_efforts(const Options& options) {
  const auto rank = static_cast<double>(options.integer("rank"));
  constexpr double width = sizeof(float);
  const double own = has_error_feedback(options) ? 2.0 * rank : 0.0;  // to expand the sent values
  return {{2.0 * width + feedback_bytes(options), 4.0 * rank + own, 4}, {width, 2.0 * rank}};
}

}  // namespace

FactorForm::FactorForm(const Setting& setting)
    : rank(static_cast<std::size_t>(setting.options.integer("rank"))) {
  for (const Part& part : setting.stretch.parts) {
    const std::int64_t factored = setting.options.integer("rank") * (part.rows + part.columns);
    if (factored >= part.size()) {
      plain.push_back({part});
      continue;
    }
    matrices.push_back({part, left_size, right_size});
    left_size += rank * static_cast<std::size_t>(part.rows);
    right_size += rank * static_cast<std::size_t>(part.columns);
  }
  for (Plain& one : plain) {
    one.at = left_size;
    left_size += static_cast<std::size_t>(one.part.size());
  }
}

std::vector<float> FactorForm::start(const Setting& setting) const {
  Rng random = Rng::stream(setting.seed, "power-sgd", static_cast<std::uint64_t>(setting.stretch.position));
  std::vector<float> factors(right_size);
  for (float& value : factors) value = static_cast<float>(random.normal());
  return factors;
}

Entry power_sgd() {
  return {.name = "power-sgd",
          .summary =
              "each matrix as the product of two narrow ones; an all-reduce sums both, one after the other",
          .paper =
              "Vogels, Karimireddy, Jaggi: PowerSGD: Practical Low-Rank Gradient Compression for "
              "Distributed Optimization. NeurIPS 2019",
          .options = {integer_option("rank", "rank: columns of the narrow matrices", 2, 1, 1024),
                      error_feedback_option(true)},
          .make = {.sharing = Sharing::factored,
                   .make = make_codec<PowerSgd>,
                   .efforts = power_sgd_efforts,
                   .element = nullptr,
                   .make_factors = make_shared_factors}};
}

}  // namespace tandem::compression
