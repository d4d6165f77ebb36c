// The methods of this folder, one file each; everyone else asks the catalogue.
#pragma once

#include <span>

#include "policies/compression/codec.hpp"

namespace tandem::compression {

std::unique_ptr<Codec> make_fp16(const Setting& setting);
std::unique_ptr<Codec> make_bf16(const Setting& setting);
Efforts cast_efforts(const Options& options);

std::unique_ptr<Codec> make_top_k(const Setting& setting);
Efforts top_k_efforts(const Options& options);

std::unique_ptr<Codec> make_random_k(const Setting& setting);
Efforts random_k_efforts(const Options& options);

std::unique_ptr<Codec> make_sign(const Setting& setting);
Efforts sign_efforts(const Options& options);

std::unique_ptr<Codec> make_one_bit(const Setting& setting);
Efforts one_bit_efforts(const Options& options);

std::unique_ptr<Codec> make_qsgd(const Setting& setting);
Efforts qsgd_efforts(const Options& options);

std::unique_ptr<Codec> make_power_sgd(const Setting& setting);
std::unique_ptr<SharedFactors> make_shared_factors(const Setting& setting);
Efforts power_sgd_efforts(const Options& options);

/// Those of the stretch's values that are the part's.
template <class T>
std::span<T> elements_of(const Part& part, std::span<T> values) {
  return values.subspan(static_cast<std::size_t>(part.begin), static_cast<std::size_t>(part.size()));
}

/// How many of so many elements a share of them is: at least one of any.
std::int64_t count_of_share(double share, std::int64_t elements);
/// The memory that error feedback moves for each element where the codec does not encode with memory: reads
/// and writes it twice, and writes what was sent.
double feedback_bytes(const Options& options);

}  // namespace tandem::compression
