// The page on measured lifetimes of machines: survival curves with the fitted models, and tables.
#pragma once

#include <string>

#include "workloads/records/lifetimes_fit.hpp"

namespace tandem::validation {

/// `fit`: with the points of its models.
std::string lifetimes_html(const LifetimesFit& fit);
/// Writes report.json, report.md and report.html. Errors: WorldError when a file cannot be written.
void write_lifetimes_report(const std::string& directory, const LifetimesFit& fit);

}  // namespace tandem::validation
