// Keeps an error of a function, to throw it later at another place.
#pragma once

#include <exception>
#include <stdexcept>

#include "policies/vocabulary/check.hpp"

namespace tandem {

/// Calls `function`; returns its error, or null. An error of the system or the standard library becomes a
/// WorldError that begins with `what()`.
template <class Function, class What>
std::exception_ptr caught_error(const Function& function, const What& what) {
  try {
    function();
  } catch (const WorldError&) {
    return std::current_exception();
  } catch (const ConfigError&) {
    return std::current_exception();
  } catch (const std::exception& error) {
    return std::make_exception_ptr(WorldError(what() + ": " + error.what()));
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

}  // namespace tandem
