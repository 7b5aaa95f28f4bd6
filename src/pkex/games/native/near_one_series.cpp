#include "near_one_series.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <mutex>

namespace pkex {
namespace {

constexpr std::size_t kLong = 32;  // terms before the cut: (0.8 / pi)^32 is below 2^-63
constexpr double kMostLogit = 5.3;

using Powers = std::array<double, kLong>;

// The coefficients of g(s) / s.
Powers long_shares(double t) {
    std::array<double, kLong + 1> g = {0.0, 1.0};
    for (std::size_t n = 1; n < kLong; ++n) {
        double square = 0.0;
        for (std::size_t i = 1; i < n; ++i) square += g[i] * g[n - i];
        g[n + 1] = ((2.0 * t - 1.0) * g[n] - t * (1.0 - t) * square) / double(n + 1);
    }
    Powers shares;
    for (std::size_t n = 0; n < kLong; ++n) shares[n] = g[n + 1];
    return shares;
}

// The coefficients of l(s) / s.
Powers long_logs(double t, const Powers& shares) {
    Powers logs;
    logs[0] = -t;
    for (std::size_t n = 1; n < kLong; ++n) {
        logs[n] = t * (1.0 - t) * shares[n - 1] / double(n + 1);
    }
    return logs;
}

// How s^n on [0, 1] is made from fewer powers, for every n from `terms` on: the coefficients of the
// first `terms` terms of its Chebyshev series.
class Shortening {
public:
    explicit Shortening(int terms) : terms_(std::size_t(terms)) {
        // T*_(k+1) = (4 s - 2) T*_k - T*_(k-1), with integer coefficients.
        std::array<Powers, kMostTerms> chebyshev = {};
        chebyshev[0][0] = 1.0;
        chebyshev[1][0] = -1.0;
        chebyshev[1][1] = 2.0;
        for (std::size_t k = 2; k < terms_; ++k) {
            for (std::size_t i = 0; i <= k; ++i) {
                const double below = i ? chebyshev[k - 1][i - 1] : 0.0;
                chebyshev[k][i] = 4.0 * below - 2.0 * chebyshev[k - 1][i] - chebyshev[k - 2][i];
            }
        }
        double central = 1.0;  // 2^(-2n) C(2n, n)
        for (std::size_t n = 1; n < kLong; ++n) {
            central *= (double(n) - 0.5) / double(n);
            if (n < terms_) continue;
            double share = central;  // 2^(-2n) C(2n, n-k)
            for (std::size_t k = 0; k < terms_; ++k) {
                for (std::size_t i = 0; i <= k; ++i) {
                    powers_[n][i] += (k ? 2.0 : 1.0) * share * chebyshev[k][i];
                }
                share *= double(n - k) / double(n + k + 1);
            }
        }
    }

    // Append the coefficients of the shortened polynomial on [0, limit].
    void append(const Powers& given, double limit, std::vector<double>& to) const {
        Powers cut = {};  // in powers of s / limit
        double scale = 1.0;
        for (std::size_t n = 0; n < kLong; ++n, scale *= limit) {
            if (n < terms_) {
                cut[n] = given[n] * scale;
                continue;
            }
            for (std::size_t i = 0; i < terms_; ++i) cut[i] += given[n] * scale * powers_[n][i];
        }
        scale = 1.0;
        for (std::size_t i = 0; i < terms_; ++i, scale *= limit) to.push_back(cut[i] / scale);
    }

private:
    std::size_t terms_;
    std::array<Powers, kLong> powers_ = {};
};

// The series of one rule, and the numbers they point to.
struct Made {
    std::vector<std::vector<double>> numbers;
    std::vector<Series> all;
};

Made make(const std::vector<double>& nodes) {
    Made made;
    for (int i = 0; i < kSeries; ++i) {
        const Shortening to_logs(log_terms(kSeriesTerms[i])), to_shares(kSeriesTerms[i]);
        std::vector<double> logs, shares;
        for (const double node : nodes) {
            const Powers powers = long_shares(node);
            to_logs.append(long_logs(node, powers), kSeriesLimits[i], logs);
            to_shares.append(powers, kSeriesLimits[i], shares);
        }
        made.all.push_back({logs.data(), shares.data()});  // which moving them leaves in place
        made.numbers.push_back(std::move(logs));
        made.numbers.push_back(std::move(shares));
    }
    return made;
}

}  // namespace

const Series* series_of(const std::vector<double>& nodes) {
    for (const double t : nodes) {
        if (!(std::fabs(std::log(t / (1.0 - t))) <= kMostLogit)) return nullptr;
    }
    static std::mutex mutex;
    static std::map<std::vector<double>, Made> known;
    const std::lock_guard<std::mutex> lock(mutex);
    const auto found = known.find(nodes);
    if (found != known.end()) return found->second.all.data();
    return known.emplace(nodes, make(nodes)).first->second.all.data();
}

}  // namespace pkex
