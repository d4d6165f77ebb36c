// Keeps what a function throws for a later place, where it belongs.
#pragma once

#include <exception>
#include <stdexcept>

#include "policies/vocabulary/check.hpp"

namespace tandem {

/// Calls `function`; returns what it throws, or null. What the system or the standard library throws becomes
/// a WorldError that begins with `what()`.
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
