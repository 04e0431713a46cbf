"""Three rounds of every master that randomises, and 120 choices of every one that does not, in 50 digits.

Written from the formulas (the head of each file in src/masters), not from the Rust: plain sums, bisection for every
root, no shortcuts.    python3 masters.py > masters.txt

Lines of the output: `name M p...` after each of three rounds in which bases 0, 2, 1 lose .7, .2, 1 with weight
1/pbar (T = 1000, 10 for hedged; twelve rounds for trim, corral, hedged, arbe/gap, black-box and two-step), and `name choices ...` of runs in which the loss of base b in round t is
(.8, .15, .5)[b] + ((7 t + 3 b) mod 5 - 2)/20.
"""
from mpmath import mp, mpf, sqrt, log, exp

mp.dps = 50
M, T = 3, mpf(1000)
ROUNDS = [(0, mpf(7) / 10), (2, mpf(2) / 10), (1, mpf(1))]

# Twelve rounds where something must have time to happen: patience spent, rates changed.
MORE = ROUNDS + [(0, mpf(9) / 10), (2, mpf(1) / 10), (1, mpf(8) / 10), (0, mpf(1)), (0, mpf(6) / 10),
                 (2, mpf(3) / 10), (1, mpf(1)), (1, mpf(1)), (0, mpf(1))]


def show(name, p):
    print(name, M, *[mp.nstr(x, 20) for x in p])


def root(f, low, high, halvings=400):
    """Where an increasing f passes 0."""
    for _ in range(halvings):
        mid = (low + high) / 2
        if f(mid) > 0:
            high = mid
        else:
            low = mid
    return (low + high) / 2


def soft(sums, eta, gamma):
    least = min(sums)
    w = [exp(-eta * (s - least)) for s in sums]
    return [(1 - gamma) * x / sum(w) + gamma / M for x in w]


def barrier(p, eta, l, floor=0):
    """Log-barrier step; p_i = max(floor, 1/(1/p_i + eta_i (l_i - x)))."""
    eta = eta if isinstance(eta, list) else [eta] * len(p)
    step = lambda x: [max(floor, 1 / (1 / q + e * (v - x))) for q, e, v in zip(p, eta, l)]
    pole = min(v + 1 / (q * e) for q, e, v in zip(p, eta, l))
    x = root(lambda x: sum(step(x)) - 1, min(l) - 1, pole - mpf(10) ** -45)
    return step(x)


def exp3(name, eta, gamma, anytime=False):
    s = [mpf(0)] * M
    p = soft(s, eta, gamma)
    for t, (k, f) in enumerate(ROUNDS):
        s[k] += f / p[k]
        if anytime:
            eta = sqrt(log(M) / ((t + 2) * M))
        p = soft(s, eta, gamma)
        show(name, p)


def exp3_published():
    s, eta, gamma = [mpf(0)] * M, sqrt(log(M) / (T * M)), 1 / sqrt(T)
    p = [mpf(1) / M] * M
    for k, f in ROUNDS:
        s[k] += (1 - f) / p[k]
        w = [exp(min(eta * x, mpf(100))) for x in s]
        p = [(1 - gamma) * x / sum(w) + gamma / M for x in w]
        show("exp3/published", p)


def exp3p():
    delta = mpf(5) / 100
    b = sqrt(log(M / delta) / (T * M))
    eta = mpf(95) / 100 * sqrt(log(M) / (T * M))
    gamma = mpf(105) / 100 * sqrt(M * log(M) / T)
    g = [mpf(0)] * M
    p = [mpf(1) / M] * M
    for k, f in ROUNDS:
        g = [g[i] + ((1 - f if i == k else 0) + b) / p[i] for i in range(M)]
        p = soft([-x for x in g], eta, gamma)
        show("exp3-p", p)


def tsallis(name, reduced):
    s = [mpf(0)] * M
    c = 4 if reduced else 2
    p = [mpf(1) / M] * M
    for t, (k, f) in enumerate(ROUNDS, 1):
        eta = c / sqrt(mpf(t))
        for i in range(M):
            base = mpf(1) / 2 if reduced and p[i] >= eta ** 2 else mpf(0)
            s[i] += base + ((f - base) / p[i] if i == k else 0)
        eta = c / sqrt(mpf(t + 1))
        x = root(lambda x: sum(4 / (eta * (v - x)) ** 2 for v in s) - 1, min(s) - 1000, min(s) - mpf(10) ** -45)
        p = [4 / (eta * (v - x)) ** 2 for v in s]
        show(name, p)


def grid():
    etas = [mpf(c) / sqrt(T) for c in ("0.1", "0.5", "2", "10", "50")]
    G = len(etas)
    xi = sqrt(log(G) / (T * min(M, G)))
    copies = [[mpf(1) / M] * M for _ in etas]
    cost = [mpf(0)] * G
    bar = [mpf(1) / M] * M
    for k, f in ROUNDS:
        l = [f / bar[k] if i == k else mpf(0) for i in range(M)]
        cost = [c + sum(q * v for q, v in zip(p, l)) for c, p in zip(cost, copies)]
        copies = [barrier(p, eta, l) for p, eta in zip(copies, etas)]
        w = [exp(-xi * (c - min(cost))) for c in cost]
        q = [x / sum(w) for x in w]
        mix = [sum(q[g] * copies[g][i] for g in range(G)) for i in range(M)]
        bar = [(1 - 1 / T) * x + 1 / (T * M) for x in mix]
        show("eta-grid", bar)


def trim(name, halving, a, budget):
    w = [mpf(M)] * M
    m, n, spent = [mpf(0)] * M, [0] * M, [mpf(0)] * M
    Q, eta, h = mpf(0), mpf(34) / 100, mpf(200)
    total, count = mpf(0), 0

    def bar():
        A = [i for i in range(M) if spent[i] < budget / (M - 1)]
        th = mpf(1) / 2 if A else mpf(0)
        return [(1 - th) / w[i] + (th / len(A) if i in A else 0) for i in range(M)]

    for t, (k, f) in enumerate(MORE, 1):
        p = bar()
        known = [m[j] for j in range(M) if n[j] >= 2]
        if known:
            spent[k] = max(mpf(0), spent[k] + f - min(known))
        overall = total / count if count else mpf(0)
        base = [m[i] if n[i] else overall for i in range(M)]
        l = [base[i] + ((f - base[i]) / p[k] if i == k else 0) for i in range(M)]
        n[k] += 1
        m[k] += max(mpf(1) / n[k], 1 / h) * (f - m[k])
        total, count = total + f, count + 1
        q2 = [1 / x ** 2 for x in w]
        c = sum(a_ * b_ for a_, b_ in zip(q2, l)) / sum(q2)
        q = sum(a_ * (b_ - c) ** 2 for a_, b_ in zip(q2, l))
        target = a * sqrt(M * log(T) / Q) if Q else mp.inf
        if halving:
            if target < eta / 2:
                eta, w, Q = eta / 2, [mpf(M)] * M, mpf(0)
        else:
            eta = min(mpf(34) / 100, target)
        Q += q
        delta = min(mpf(1) / 2, 2 / sqrt(mpf(t))) / M
        w = [1 / x for x in barrier([1 / x for x in w], eta, l, delta)]
        show(name, bar())


def corral(name, eta, overwrite=False, whole=False, shrink=False, gains=False):
    """Algorithm 1 with the deviations of public programs, but for their loose solvers."""
    gamma, beta = 1 / T, exp(1 / log(T))
    p = [mpf(1) / M] * M
    bar, etas, rho = p, [eta] * M, [mpf(2 * M)] * M
    for k, f in MORE:
        l = [((1 - f) if gains else f) / bar[k] if i == k else mpf(0) for i in range(M)]
        p = barrier(p, etas, l)
        bar = [(1 - gamma) * x + gamma / M for x in p]
        for i in range(M):
            if 1 / bar[i] > rho[i]:
                rho[i] = mp.floor(2 / bar[i]) if whole else 2 / bar[i]
                etas[i] = etas[i] / beta if shrink else etas[i] * beta
        if overwrite:
            p = bar
        show(name, bar)


def clipped(eta):
    """Algorithm 1 over p_i >= 1/(T M), without mixing."""
    beta, floor = exp(1 / log(T)), 1 / (T * M)
    p, etas, rho = [mpf(1) / M] * M, [eta] * M, [mpf(2 * M)] * M
    for k, f in MORE:
        p = barrier(p, etas, [f / p[k] if i == k else mpf(0) for i in range(M)], floor)
        for i in range(M):
            if 1 / p[i] > rho[i]:
                rho[i], etas[i] = 2 / p[i], etas[i] * beta
        show("corral/clipped", p)


def hedged():
    T = mpf(10)
    R = [mpf(c) / 10 * sqrt(T) for c in (2, 4, 8)]
    L, rho = [mpf(0)] * M, [mpf(2 * M)] * M

    def bias(i, r):
        return (sqrt(r) - sqrt(mpf(2 * M))) * R[i]

    def shifted(i, x):
        """z = L_i - B_i - x with B_i for rho_i = max(rho_i, 1/p_i) and p_i = T/z^2."""
        return root(lambda z: z + bias(i, max(rho[i], z * z / T)) - (L[i] - x), mpf(0), L[i] - x, 170)

    def leader():
        least = min(a - bias(i, rho[i]) for i, a in enumerate(L))
        total = lambda x: sum(T / shifted(i, x) ** 2 for i in range(M))
        x = root(lambda x: total(x) - 1, least - 100, least - mpf(1) / 1000, 170)
        return [T / shifted(i, x) ** 2 for i in range(M)]

    p = leader()
    for k, f in MORE:
        L[k] += f / p[k]
        p = leader()
        rho = [max(r, 1 / q) for r, q in zip(rho, p)]
        show("hedged", p)
    assert max(rho) > 2 * M


def arbe():
    c, delta = mpf(1) / 10, mpf(1) / 10
    d = [mpf(5) / 10, mpf(8) / 10, mpf(6) / 10]
    order, G, t = [0, 2, 1], [mpf(0)] * M, 0

    def shares():
        total = sum(1 / d[j] ** 2 for j in order)
        return [1 / d[i] ** 2 / total if i in order else mpf(0) for i in range(M)]

    p = shares()
    for k, f in ROUNDS:
        G[k] += (1 - f) / p[k]
        t += 1
        v = lambda i: sqrt(t * log(M * t / delta) / p[i])
        broken = [a for a, i in enumerate(order) for j in order[a + 1:]
                  if G[i] + c * (d[i] * sqrt(t / p[i]) + v(i)) < G[j] - c * v(j)]
        if broken:
            order, G, t = order[max(broken) + 1:], [mpf(0)] * M, 0
        p = shares()
        show("arbe", p)
    assert len(order) == 2


def arbe_gap():
    """Equal bounds, so that no base is dropped: the gap is found, and refuted."""
    c, delta = mpf(4) / 100, mpf(1) / 10
    d, G, V, t = mpf(200), [mpf(0)] * M, [mpf(0)] * M, 0
    leader, hopes, phases = None, True, []
    p = [mpf(1) / M] * M
    for k, f in MORE:
        G[k] += (1 - f) / p[k]
        V = [v + 1 / x for v, x in zip(V, p)]
        t += 1
        wide = [c * sqrt(v * log(M * t / delta)) for v in V]
        pairs = [(a, b) for a in range(M) for b in range(M) if a != b]
        begin = False
        if leader is None:
            assert not any(G[i] + c * d * sqrt(V[i]) + wide[i] < G[j] - wide[j] for i, j in pairs)
            for b in range(M):
                rest = [j for j in range(M) if j != b]
                if hopes and all(G[b] - G[j] >= 2 * (wide[b] + wide[j]) for j in rest):
                    gap, begin, leader = min((G[b] - G[j] - wide[b] - wide[j]) / t for j in rest), True, b
        elif any(G[leader] - G[j] + wide[leader] + wide[j] < t * gap / 2 for j in range(M) if j != leader):
            leader, hopes, begin = None, False, True
        if begin:
            G, V, t = [mpf(0)] * M, [mpf(0)] * M, 0
            phases.append(leader)
        share = min(mpf(1) / 2, 8 * c**2 * 2 * log(M * (t + 1) / delta) / (gap**2 * (t + 1))) if leader is not None else 0
        p = [mpf(1) / M if leader is None else 1 - share if i == leader else share / 2 for i in range(M)]
        show("arbe/gap", p)
    assert phases == [0, None]


def black_box():
    """A candidate and EXP3 over the two others; the two share the round by minimising over a line."""
    m = mpf(M - 1)
    c1 = mpf(2) / 1000 * 4 * m * log(m)
    candidate, before = 0, sqrt(c1) * log(T)
    changes = 0

    def fresh():
        return dict(t=0, Z=[mpf(0), mpf(0)], S=mpf(0), L=[mpf(0)] * M, N=[0] * M)

    def shares(now):
        t = now["t"] + 1
        eta = 1 / (sqrt(mpf(t)) + 8 * sqrt(c1))
        # The derivative by q_1 of the sum that is minimised, increasing.
        slope = lambda q: (now["Z"][0] - now["Z"][1] + sqrt(c1 * now["S"])
                           - (1 / sqrt(q) - 1 / sqrt(1 - q)) / eta)
        first = root(slope, mpf(10) ** -45, 1 - mpf(10) ** -45)
        q = [(1 - 1 / (2 * mpf(t) ** 2)) * x + 1 / (4 * mpf(t) ** 2) for x in (first, 1 - first)]
        rate = sqrt(log(m) / (m * (now["S"] + 1 / q[1])))
        w = {j: exp(-rate * now["L"][j]) for j in range(M) if j != candidate}
        p = [q[0] if j == candidate else q[1] * w[j] / sum(w.values()) for j in range(M)]
        return q, p

    now = fresh()
    q, p = shares(now)
    for k, f in MORE:
        which = 0 if k == candidate else 1
        now["Z"][which] += (1 + f) / q[which]
        if which:
            now["L"][k] += f / p[k]
        now["S"] += 1 / q[1]
        now["N"][k] += 1
        now["t"] += 1
        most = [j for j in range(M) if j != candidate and 2 * now["N"][j] >= now["t"]]
        if now["t"] >= 2 * before and most:
            candidate, before, changes = most[0], now["t"], changes + 1
            now = fresh()
        q, p = shares(now)
        show("black-box", p)
    assert changes == 2 and candidate == 1


def two_step():
    """Pairs: the first loss is not learned, the second by Corral with T/2 rounds."""
    n = T / 2
    gamma, eta = 1 / n, mpf(2)
    p = [mpf(1) / M] * M
    bar, etas, rho = p, [eta] * M, [mpf(2 * M)] * M
    for k, f in MORE[:6]:
        show("two-step", [mpf(1) if i == k else mpf(0) for i in range(M)])
        p = barrier(p, etas, [f / bar[k] if i == k else mpf(0) for i in range(M)])
        bar = [(1 - gamma) * x + gamma / M for x in p]
        for i in range(M):
            if 1 / bar[i] > rho[i]:
                rho[i], etas[i] = 2 / bar[i], etas[i] * exp(1 / log(n))
        show("two-step", bar)


def loss(b, t):
    return (mpf(80), mpf(15), mpf(50))[b] / 100 + mpf((7 * t + 3 * b) % 5 - 2) / 20


def choices(name, pick, learn, rounds=120):
    out = []
    for t in range(rounds):
        b = pick(t)
        out.append(b)
        learn(b, 1 - loss(b, t))
    print(name, "choices", *out)


class Sums:
    def __init__(self):
        self.n, self.u = [mpf(0)] * M, [mpf(0)] * M

    def add(self, b, r):
        self.n[b] += 1
        self.u[b] += r


def first_least(score):
    best = min(score(i) for i in range(M))
    return next(i for i in range(M) if score(i) == best)


def width(c, delta, n):
    return c * sqrt(log(M * max(mpf(1), log(n)) / delta) / n)


def ucb():
    s = Sums()
    index = lambda i, t: -mp.inf if s.n[i] == 0 else -(s.u[i] / s.n[i] + sqrt(log((t + 1) / mpf("0.1")) / s.n[i]))
    choices("ucb", lambda t: first_least(lambda i: index(i, t)), s.add)


def balancing():
    s = Sums()

    def pick(t):
        best = max([(s.u[i] + sqrt(s.n[i])) / s.n[i] for i in range(M) if s.n[i]], default=mpf(0))
        return first_least(lambda i: -mp.inf if s.n[i] == 0 else s.n[i] * best - s.u[i])

    choices("regret-balancing", pick, s.add)


def rbbe():
    s = Sums()
    active = set(range(M))
    scale = [mpf(1) / 10, mpf(2) / 10, mpf(4) / 10]
    c, delta = mpf(3) / 10, mpf(1) / 10

    def learn(b, r):
        s.add(b, r)
        low = [s.u[j] / s.n[j] - width(c, delta, s.n[j]) for j in active if s.n[j]]
        for i in list(active):
            if s.n[i] and s.u[i] / s.n[i] + scale[i] * sqrt(s.n[i]) / s.n[i] + width(c, delta, s.n[i]) < max(low):
                active.discard(i)

    choices("rbbe", lambda t: first_least(lambda i: scale[i] * sqrt(s.n[i]) if i in active else mp.inf), learn)
    print("rbbe active", *sorted(active))


def dynamic_balancing():
    s = Sums()
    scale, v = [mpf(1) / 10, mpf(2) / 10, mpf(4) / 10], [mpf(1), mpf(1), mpf(1) / 2]
    c, delta = mpf(3) / 10, mpf(1) / 10

    def pick(t):
        seen = [i for i in range(M) if s.n[i]]
        wide = {i: width(c, delta, s.n[i]) for i in seen}
        best = max([s.u[j] / s.n[j] - wide[j] for j in seen], default=-mp.inf)
        R = [scale[i] * sqrt(s.n[i]) for i in range(M)]
        active = [i for i in range(M) if not s.n[i] or s.u[i] / s.n[i] + R[i] / s.n[i] + wide[i] >= best]
        return first_least(lambda i: v[i] * R[i] if i in active else mp.inf)

    choices("dynamic-balancing", pick, s.add)


def rb_grid():
    s = Sums()
    d = [mpf(1) / 100, mpf(2) / 100, mpf(4) / 100]
    phi = list(d)
    c, delta = mpf(1) / 10, mpf(1) / 10
    bonus = lambda i: c * sqrt(s.n[i] * log((s.n[i] + 1) / delta))

    def learn(b, r):
        s.add(b, r)
        low = max((s.u[j] - bonus(j)) / sqrt(max(s.n[j], 1)) for j in range(M))
        bound = d[b] * sqrt(s.n[b] * log(s.n[b] / delta))
        phi[b] = mp.inf if (s.u[b] + bonus(b)) / sqrt(s.n[b]) + bound < low else bound

    choices("rbbe/published", lambda t: first_least(lambda i: phi[i]), learn)


def d3rb(name, estimate, published):
    s = Sums()
    c, delta, least = (mpf(5) / 10, mpf(1) / 100, mpf(1)) if published else (mpf(2) / 10, mpf(1) / 100, mpf(3) / 10)
    d, phi = [least] * M, [least] * M
    bonus = lambda i: c * sqrt(s.n[i] * log((s.n[i] + 1) / delta))

    def gap(b):
        if published:
            low = max((s.u[j] - bonus(j)) / sqrt(max(s.n[j], 1)) for j in range(M))
            return low - (s.u[b] + bonus(b)) / sqrt(s.n[b])
        low = max(s.u[j] / s.n[j] - width(c, delta, s.n[j]) for j in range(M) if s.n[j])
        return low - s.u[b] / s.n[b] - width(c, delta, s.n[b])

    def learn(b, r):
        s.add(b, r)
        n, g = s.n[b], gap(b)
        if estimate and published:
            phi[b] = max(min(n * g, 2 * phi[b]), phi[b], least * sqrt(n))
        elif estimate:
            d[b] = max(least, sqrt(n) * g)
            phi[b] = min(max(d[b] * sqrt(n), phi[b]), 2 * phi[b])
        else:
            if published and n * g > d[b] * sqrt(n):
                d[b] = min(2 * d[b], mpf(10000))
            elif not published and g > d[b] / sqrt(n):
                d[b] *= 2
            phi[b] = d[b] * sqrt(n)

    choices(name, lambda t: first_least(lambda i: phi[i]), learn)


eta = sqrt(2 * log(M) / (T * M))
exp3("exp3", eta, mpf(0))
exp3("exp3/mixing", eta, mpf(1) / 10)
exp3("exp3/anytime", sqrt(log(M) / mpf(M)), mpf(0), True)
exp3_published()
exp3p()
# alpha = 1/2, R = sqrt(T): gamma = (alpha M^alpha R/T)^(1/(1+alpha))
exp3("exp4-mix", eta, (sqrt(mpf(M)) / 2 * sqrt(T) / T) ** (mpf(2) / 3))
tsallis("tsallis-inf", False)
tsallis("tsallis-inf/reduced", True)
grid()
trim("trim", False, mpf(1), mpf(0))
trim("trim/patient", True, mpf(5) / 10, mpf(1))
trim("trim/halved", True, mpf(3) / 100, mpf(0))
corral("corral", mpf(2))
corral("corral/as-modelselection", mpf(2), overwrite=True, whole=True)
corral("corral/as-coba", mpf(2), shrink=True)
corral("corral/as-smpybandits", mpf(1) / 20)
corral("corral/as-adversarial-master-h", mpf(1) / 2, overwrite=True, gains=True)
clipped(mpf(8))
hedged()
arbe()
arbe_gap()
black_box()
two_step()
ucb()
balancing()
rbbe()
dynamic_balancing()
rb_grid()
d3rb("d3rb", False, False)
d3rb("d3rb/published", False, True)
d3rb("ed2rb", True, False)
d3rb("ed2rb/published", True, True)
