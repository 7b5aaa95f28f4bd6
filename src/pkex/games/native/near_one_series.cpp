#include "near_one_series.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <mutex>

#include "deficit_series.hpp"
#include "signed_series.hpp"

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

// How s^n on [0, 1], or with `Symmetric` on [-1, 1], is made from fewer powers, for every n from
// `terms` on: the coefficients of the first `terms` terms of its Chebyshev series.
template <bool Symmetric>
class Shortening {
public:
    explicit Shortening(int terms) : terms_(std::size_t(terms)) {
        // T*_(k+1) = (4 s - 2) T*_k - T*_(k-1) or T_(k+1) = 2 s T_k - T_(k-1), with integer
        // coefficients.
        std::array<Powers, kMostTerms> chebyshev = {};
        chebyshev[0][0] = 1.0;
        chebyshev[1][0] = Symmetric ? 0.0 : -1.0;
        chebyshev[1][1] = Symmetric ? 1.0 : 2.0;
        for (std::size_t k = 2; k < terms_; ++k) {
            for (std::size_t i = 0; i <= k; ++i) {
                const double below = (Symmetric ? 2.0 : 4.0) * (i ? chebyshev[k - 1][i - 1] : 0.0);
                const double here = Symmetric ? 0.0 : 2.0 * chebyshev[k - 1][i];
                chebyshev[k][i] = below - here - chebyshev[k - 2][i];
            }
        }
        // s^n is 2^(-2n) sum_k C(2n, n-k) T*_k or 2^(-n) sum_k C(n, (n-k)/2) T_k, where terms with
        // k > 0 count twice, and on [-1, 1] k has the parity of n.
        double central = 1.0;  // 2^(-2h) C(2h, h) with h = all / 2
        for (std::size_t n = 1, all = 0; n < kLong; ++n) {
            for (const std::size_t next = Symmetric ? n / 2 * 2 : 2 * n; all < next; all += 2) {
                central *= double(all + 1) / double(all + 2);
            }
            if (n < terms_) continue;
            const std::size_t odd = Symmetric ? n % 2 : 0, step = Symmetric ? 2 : 1;
            std::size_t chosen = all / 2;  // C(all + odd, chosen)
            double share = odd ? central * double(all + 1) / double(all + 2) : central;
            for (std::size_t k = odd; k < terms_; k += step) {
                for (std::size_t i = odd; i <= k; i += step) {
                    powers_[n][i] += (k ? 2.0 : 1.0) * share * chebyshev[k][i];
                }
                share *= double(chosen) / double(all + odd - chosen + 1);
                --chosen;
            }
        }
    }

    // Append the coefficients of the shortened polynomial, up to `limit`.
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

template <bool Symmetric>
void add_series(int terms, double limit, const std::vector<Powers>& all_logs,
                const std::vector<Powers>& all_shares, Made& made) {
    const Shortening<Symmetric> to_logs(log_terms(terms)), to_shares(terms);
    std::vector<double> logs, shares;
    for (const Powers& powers : all_logs) to_logs.append(powers, limit, logs);
    for (const Powers& powers : all_shares) to_shares.append(powers, limit, shares);
    made.all.push_back({logs.data(), shares.data()});  // which moving them leaves in place
    made.numbers.push_back(std::move(logs));
    made.numbers.push_back(std::move(shares));
}

Made make(const std::vector<double>& nodes) {
    std::vector<Powers> logs, shares;
    for (const double t : nodes) {
        shares.push_back(long_shares(t));
        logs.push_back(long_logs(t, shares.back()));
    }
    Made made;
    for (int i = 0; i < kSeries; ++i) {
        add_series<false>(kSeriesTerms[i], kSeriesLimits[i], logs, shares, made);
    }
    return made;
}

Made make_signed(const std::vector<double>& distances) {
    std::vector<Powers> logs, shares;
    for (const double eta : distances) {
        const double t = 0.5 - 0.5 * eta;
        shares.push_back(long_shares(t));
        logs.push_back(long_logs(t, shares.back()));
        logs.back()[0] = 0.5 * eta;
    }
    Made made;
    for (int i = 0; i < kSignedSeries; ++i) {
        add_series<true>(kSignedTerms[i], kSignedLimits[i], logs, shares, made);
    }
    return made;
}

// The coefficients of all series of half deficits, one after the other.
template <bool Symmetric>
std::vector<double> deficit_coefficients(int count, const double* limits) {
    Powers halves = long_shares(0.0);
    for (double& coefficient : halves) coefficient *= 0.5;
    std::vector<double> all;
    for (int i = 0; i < count; ++i) {
        Shortening<Symmetric>(kFewestDeficitTerms + i).append(halves, limits[i], all);
    }
    return all;
}

DeficitSeries listed(int count, const double* limits, const double* coefficients) {
    DeficitSeries series = {count, limits, {}};
    for (int i = 0; i < count; ++i) {
        series.coefficients[i] = coefficients;
        coefficients += kFewestDeficitTerms + i;
    }
    return series;
}

// Series that are made once for the numbers they belong to.
class Known {
public:
    template <class Make>
    const Series* find(const std::vector<double>& numbers, const Make& make_new) {
        const std::lock_guard<std::mutex> lock(mutex_);
        const auto found = made_.find(numbers);
        if (found != made_.end()) return found->second.all.data();
        return made_.emplace(numbers, make_new(numbers)).first->second.all.data();
    }

private:
    std::mutex mutex_;
    std::map<std::vector<double>, Made> made_;
};

bool is_covered(double t) { return std::fabs(std::log(t / (1.0 - t))) <= kMostLogit; }

}  // namespace

const Series* series_of(const std::vector<double>& nodes) {
    for (const double t : nodes) {
        if (!is_covered(t)) return nullptr;
    }
    static Known known;
    return known.find(nodes, make);
}

const Series* signed_series_of(const std::vector<double>& distances) {
    for (const double eta : distances) {
        if (!is_covered(0.5 - 0.5 * eta)) return nullptr;
    }
    static Known known;
    return known.find(distances, make_signed);
}

const DeficitSeries& deficit_series() {
    static const auto coefficients = deficit_coefficients<false>(kDeficitSeries, kDeficitLimits);
    static const auto series = listed(kDeficitSeries, kDeficitLimits, coefficients.data());
    return series;
}

const DeficitSeries& signed_deficit_series() {
    static const auto coefficients =
        deficit_coefficients<true>(kSignedDeficitSeries, kSignedDeficitLimits);
    static const auto series =
        listed(kSignedDeficitSeries, kSignedDeficitLimits, coefficients.data());
    return series;
}

}  // namespace pkex
