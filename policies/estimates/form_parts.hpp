// What several forms need: scales, checks of the points, how well a fit is determined. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "policies/estimates/forms.hpp"
#include "policies/estimates/least_squares.hpp"

namespace tandem::estimates {

/// Of forms that search for more than coefficients.
inline constexpr std::size_t least_groups = 8;
inline constexpr const char* too_few_groups = "fewer than 8 groups";
inline constexpr const char* not_above_zero = "features that are not above 0";

std::size_t count_groups(const std::vector<FormPoint>& points);

/// Whether all features have logarithms.
bool are_above_zero(const std::vector<FormPoint>& points);

/// Without terms, and without a scale. Pre: at least one point.
FittedForm empty_form(const char* name, const std::vector<FormPoint>& points);

/// Scales each feature, of a logarithmic form its logarithm, from 0 to 1 over the points.
void scale_to(FittedForm& form, const std::vector<FormPoint>& points);

std::vector<double> scaled(const FittedForm& form, const std::vector<double>& features);

/// Of the columns whose coefficients are not 0: others have that coefficient whatever they are.
double condition_of_used(const Matrix& rows, const std::vector<double>& coefficients,
                         const std::vector<double>& values);

}  // namespace tandem::estimates
