"""Every alignment runs the whole harness because it is listed here."""

import itertools

import numpy as np
import pytest
import tensorflow as tf
from support.attention import SOURCE, AlignmentTests, sigmoid, softmax
from support.structures import all_segmentations, all_trees

from seqattn_tf import attention
from seqattn_tf.attention import Alignment


class TestSoftmax(AlignmentTests):
    kind = attention.SoftmaxAlignment
    meaning = "distribution"

    @classmethod
    def make(cls, **options):
        return cls.kind(**options)

    def aligned(self, weights, logits):
        return np.array([softmax(row) for row in logits])


class TestSigmoid(TestSoftmax):
    kind = attention.SigmoidAlignment
    meaning = "independent"
    arguments = {"bias": -1.0}

    def aligned(self, weights, logits):
        return sigmoid(logits + weights[0])

    def test_few_places_are_selected_at_first(self):
        align = self.kind()
        weights, _ = align(tf.zeros([1, 1, 20]), tf.ones([1, 1, 20], tf.bool))
        assert 0.5 < float(tf.reduce_sum(weights)) < 1.5


def threshold(value, scores):
    """Find the `tau` for which `sum value(scores - tau)` is one, by bisection."""
    low, high = scores.min() - 2, scores.max()
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if value(scores - middle).sum() > 1 else (low, middle)
    return value(scores - (low + high) / 2)


class TestSparsemax(TestSoftmax):
    kind = attention.SparsemaxAlignment

    def aligned(self, weights, logits):
        return np.array([threshold(lambda x: np.maximum(x, 0), row) for row in logits])

    def test_many_places_ties_and_second_derivatives(self):
        logits = np.round(np.random.default_rng(0).normal(size=[5, 1, 50]), 1)  # with many ties
        logits[0] = 0.0
        mask = np.ones([5, 1, 50], bool)
        found, _ = self.kind(dtype="float64")(tf.constant(logits), tf.constant(mask))
        np.testing.assert_allclose(found[:, 0], self.aligned((), logits[:, 0]), atol=1e-9)
        assert (found.numpy()[1:] == 0).any(2).all()

        align, start = self.kind(dtype="float64"), np.array([0.3, -0.2, 0.1, -4.0])

        def gradient(z):
            with tf.GradientTape() as tape:
                tape.watch(z)
                cubes = tf.reduce_sum(align.call(z[None, None], tf.ones([1, 1, 4], tf.bool))[0] ** 3)
            return tape.gradient(cubes, z)

        with tf.GradientTape() as tape:
            z = tf.constant(start)
            tape.watch(z)
            first = gradient(z)
        hessian = tape.jacobian(first, z)
        for i, move in enumerate(1e-5 * np.eye(4)):
            slope = (gradient(tf.constant(start + move)) - gradient(tf.constant(start - move))) / 2e-5
            np.testing.assert_allclose(hessian[:, i], slope, atol=1e-8)


class TestEntmax(TestSparsemax):
    kind = attention.EntmaxAlignment

    def aligned(self, weights, logits):
        return np.array([threshold(lambda x: np.maximum(x, 0) ** 2, row / 2) for row in logits])


class TestMonotonic(TestSoftmax):
    kind = attention.MonotonicAlignment
    remembers = True
    quick = ("gradients",)
    arguments = {"bias": -2.0, "noise": 0.5, "seed": 3, "hard": True}

    def aligned(self, weights, logits):
        last, found = np.eye(logits.shape[1])[0], []
        for stop in sigmoid(logits + weights[0]):
            here, passed = np.zeros_like(stop), 0.0
            for j in range(len(stop)):
                reached = passed + last[j]
                here[j], passed = stop[j] * reached, (1 - stop[j]) * reached
            last = here
            found.append(here)
        return np.array(found)

    def test_long_sources_and_sure_stops_in_single_precision(self):
        """The quotient of products in the paper would be 0 / 0 here."""
        size, align = 1000, self.kind(bias=0.0)
        logits = np.where(np.arange(size) % 400 == 399, 200.0, -3.0)
        mask = tf.ones([1, size], tf.bool)
        state = align.initial_state(mask, tf.float32)
        logits = tf.constant(logits[None, None], tf.float32)
        with tf.GradientTape() as tape:
            tape.watch(logits)
            weights, state = align(logits, mask[:, None], state)
            loss = tf.reduce_sum(weights**2)
        expected = self.aligned([0.0], logits[0].numpy().astype("float64"))
        np.testing.assert_allclose(weights[0], expected, atol=1e-6)
        assert np.isfinite(tape.gradient(loss, logits)).all()
        np.testing.assert_array_equal(state[0], weights[:, 0])

    def test_noise_in_training_alone(self):
        layer = attention.Attention("dot", self.kind(bias=0.0, noise=2.0, seed=1))
        query, values = tf.ones([2, 3, 1]), tf.zeros([2, SOURCE, 1])
        runs = [layer(query, values, training=flag)[1].numpy() for flag in (False, False, True, True)]
        np.testing.assert_array_equal(runs[0], runs[1])
        assert not np.allclose(runs[2], runs[3])
        assert not np.allclose(runs[2][0], runs[2][1])
        assert layer.random
        assert not attention.Attention("dot", self.kind(noise=0.0)).random


def read_on(drives, mask):
    """Read `[queries, source]` with a plain loop: move from the last position to the first one that stops."""
    found, place = np.zeros_like(drives), int(mask.argmax())
    for query, row in enumerate(drives):
        while place < len(mask) and not (mask[place] and row[place] > 0):
            place += 1
        if place == len(mask):  # past the end, permanently
            break
        found[query, place] = 1
    return found


class TestHardReader:
    """A hard monotonic reader outside training, in rows with gaps."""

    logits = np.random.default_rng(0).normal(-0.5, size=[8, 6, 9])  # [batch, queries, source]
    mask = np.random.default_rng(1).random([8, 9]) < 0.7

    def layer(self, dtype="float64"):
        """Query number `q` selects feature `q` of a position as its logit."""
        layer = attention.Attention("general", attention.MonotonicAlignment(bias=0.25, hard=True), dtype=dtype)
        layer.build((None, None, 6), (None, None, 6))
        layer.score.set_weights([np.eye(6)])
        return layer

    def arguments(self, dtype="float64"):
        self.mask[0] = False
        values = np.where(self.mask[..., None], self.logits.transpose(0, 2, 1), np.nan)
        return tf.constant(np.broadcast_to(np.eye(6), [8, 6, 6]), dtype), tf.constant(values, dtype)

    def expected(self):
        return np.stack([read_on(logits + 0.25, mask) for logits, mask in zip(self.logits, self.mask, strict=True)])

    @pytest.mark.parametrize("xla", [False, True])
    def test_reads_as_a_plain_reader(self, xla):
        layer, (query, values) = self.layer(), self.arguments()
        run = tf.function(lambda q, v: layer(q, v, mask=tf.constant(self.mask)), jit_compile=xla)
        context, weights = run(query, values)
        expected = self.expected()
        np.testing.assert_array_equal(weights, expected)
        np.testing.assert_allclose(context, expected @ np.nan_to_num(values), atol=1e-12)
        reads = expected.sum(2)
        assert reads.any(1).any()
        assert (reads[:, -1] < reads[:, 0]).any()  # some rows move past the end and stay there
        assert (np.diff(reads, axis=1) <= 0).all()

    def test_step_by_step(self):
        layer, (query, values) = self.layer(), self.arguments()
        memory = layer.prepare(values, tf.constant(self.mask))
        state = layer.initial_state(memory)
        for q, expected in enumerate(self.expected().transpose(1, 0, 2)):
            _, weights, state = layer.attend(query[:, q], memory, state)
            np.testing.assert_array_equal(weights, expected)

    def test_a_place_that_is_as_likely_as_not_is_passed(self):
        align = attention.MonotonicAlignment(bias=0.0, hard=True)
        mask = tf.ones([1, 3], tf.bool)
        logits = tf.constant([[[0.0, 1e-6, 1.0]]])
        weights, state = align(logits, mask[:, None], align.initial_state(mask, tf.float32))
        assert weights.numpy().tolist() == [[[0.0, 1.0, 0.0]]]
        again, _ = align(logits, mask[:, None], state)  # the position of the last stop is considered first
        assert again.numpy().tolist() == [[[0.0, 1.0, 0.0]]]

    def test_in_training_as_the_expected_one(self):
        soft, hard = (attention.MonotonicAlignment(bias=0.5, noise=0.0, hard=hard) for hard in (False, True))
        mask = tf.constant(self.mask)
        logits = tf.constant(self.logits[:, :1], tf.float32)
        expected, _ = soft(logits, mask[:, None], soft.initial_state(mask, tf.float32), training=True)
        found, _ = hard(logits, mask[:, None], hard.initial_state(mask, tf.float32), training=True)
        np.testing.assert_array_equal(found, expected)

    def test_half_precision(self):
        query, values = self.arguments("float32")
        _, weights = self.layer("mixed_bfloat16")(query, values, mask=tf.constant(self.mask))
        assert weights.dtype == tf.bfloat16
        np.testing.assert_array_equal(np.unique(tf.cast(weights, tf.float32)), [0, 1])


class TestHard(TestSoftmax):
    kind = attention.HardAlignment
    meaning = "sample"
    remembers = True
    arguments = {"estimator": "reinforce", "temperature": 0.5, "soft_probability": 0.25, "seed": 3}

    @classmethod
    def make(cls, **options):
        return cls.kind(temperature=0.5, **options)

    def aligned(self, weights, logits):
        return np.array([softmax(2 * row) for row in logits])

    LOGITS = np.array([0.4, -0.5, 1.3])
    MASK = np.array([True, True, False])

    def drawn(self, rows=4000, **options):
        """Draw many samples of one distribution; return weights, state, and gradients with respect to the logits."""
        align = self.kind(seed=5, **options)
        mask = tf.constant(np.broadcast_to(self.MASK, [rows, 3]))
        logits = tf.constant(np.broadcast_to(self.LOGITS, [rows, 1, 3]), tf.float32)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(logits)
            state = align.initial_state(mask, tf.float32)
            weights, state = align(logits, mask[:, None], state, training=True)
            read, log_prob = tf.reduce_sum(weights[..., 0]), tf.reduce_sum(state.log_prob)
        return weights[:, 0].numpy(), state, tape.gradient(read, logits), tape.gradient(log_prob, logits)

    def test_samples_have_their_frequencies_and_probabilities(self):
        weights, state, _, slopes = self.drawn(temperature=2.0)
        share = np.append(softmax(self.LOGITS[:2] / 2), 0)
        assert (np.sort(weights, axis=1) == [0, 0, 1]).all()
        error = np.sqrt(share * (1 - share) / len(weights))
        np.testing.assert_array_less(abs(weights.mean(0) - share), 4 * error + 1e-12)
        np.testing.assert_allclose(state.log_prob, np.log(share[weights.argmax(1)]), atol=1e-6)
        np.testing.assert_allclose(state.entropy, -(share[:2] * np.log(share[:2])).sum(), atol=1e-6)
        np.testing.assert_allclose(slopes[:, 0], (weights - share) / 2, atol=1e-6)

    def test_estimators(self):
        share = softmax(self.LOGITS[:2])
        _, _, through, _ = self.drawn(rows=3)
        np.testing.assert_allclose(through[:, 0, :2], [share[0] * (np.eye(2)[0] - share)] * 3, atol=1e-6)
        assert self.drawn(rows=3, estimator="reinforce")[2] is None
        with pytest.raises(ValueError, match=r"estimator: expected one of .*Received: 'guess'"):
            self.kind(estimator="guess")
        with pytest.raises(ValueError, match=r"temperature: expected a positive number\. Received: 0"):
            self.kind(temperature=0)

    def test_every_step_of_a_loop_draws_anew(self):
        layer = attention.Attention("dot", self.kind(seed=1))
        assert layer.random
        query, values = tf.ones([1, 40, 1]), tf.zeros([1, SOURCE, 1])

        @tf.function(autograph=False)
        def run():
            memory = layer.prepare(values)
            return layer.attend(query, memory, training=True)

        layer(query, values)
        _, weights, state = run()
        assert len({row.argmax() for row in weights[0].numpy()}) == SOURCE
        np.testing.assert_allclose(state.align.log_prob, [-40 * np.log(SOURCE)], rtol=1e-5)
        np.testing.assert_allclose(state.align.entropy, [40 * np.log(SOURCE)], rtol=1e-5)
        assert not np.array_equal(weights, run()[1])

    def test_an_empty_row_draws_nothing(self):
        align = self.kind()
        mask = tf.zeros([1, 3], tf.bool)
        weights, state = align(tf.ones([1, 1, 3]), mask[:, None], align.initial_state(mask, tf.float32), training=True)
        assert (weights.numpy() == 0).all()
        assert (float(state.log_prob[0]), float(state.entropy[0])) == (0.0, 0.0)


class TestCRF(TestSoftmax):
    kind = attention.CRFAlignment
    meaning = "marginals"
    arguments = {"bias": -1.0}
    quick = ("mixed_precision",)

    def aligned(self, weights, logits):
        bias, pairwise = weights
        choices = np.array(list(itertools.product([0, 1], repeat=logits.shape[1])))
        moves = pairwise[choices[:, :-1], choices[:, 1:]].sum(1)
        return np.array([softmax(choices @ (row + bias) + moves) @ choices for row in logits])


class TestSegments(TestSoftmax):
    kind = attention.SegmentsAlignment
    meaning = "marginals"
    arguments = {"width": 2, "bias": -1.0}

    @classmethod
    def make(cls, **options):
        return cls.kind(width=3, **options)

    def aligned(self, weights, logits):
        found = np.zeros_like(logits)
        ways = [
            [(start, width) for start, width, label in way if label]
            for way in all_segmentations(logits.shape[1], 3, 2)
            if all(width == 1 for _, width, label in way if not label)
        ]
        for row, here in zip(logits, found, strict=True):
            shares = softmax(np.array([sum(weights[0][w - 1] + row[s : s + w].sum() for s, w in way) for way in ways]))
            for share, way in zip(shares, ways, strict=True):
                for start, width in way:
                    here[start : start + width] += share
        return found

    def test_the_first_numbers_grow_with_the_width(self):
        align = attention.SegmentsAlignment(width=3, bias=-2.0)
        align.build()
        assert align.lengths.numpy().tolist() == [-2.0, -4.0, -6.0]
        with pytest.raises(ValueError, match=r"width: expected a positive integer\. Received: 0"):
            attention.SegmentsAlignment(width=0)


class TestProjectiveHeads(TestSoftmax):
    kind = attention.HeadsAlignment
    meaning = "marginals"
    arguments = {"tree": "spanning"}
    takes_one = False
    projective = True
    test_one_at_a_time_is_the_same_as_all = None

    def aligned(self, weights, logits):
        size, found = len(logits), np.zeros_like(logits)
        arcs = np.concatenate([np.full([size, 1], weights[0]), logits], 1)
        trees = list(all_trees(size, single_root=True, projective=self.projective))
        shares = softmax(np.array([sum(arcs[word, head] for word, head in enumerate(tree)) for tree in trees]))
        for share, tree in zip(shares, trees, strict=True):
            for word, head in enumerate(tree):
                if head:
                    found[word, head - 1] += share
        return found

    def test_queries_are_the_places(self):
        align = self.kind()
        with pytest.raises(ValueError, match=r"query: expected one query for each of the 3 positions\. Received: 2"):
            align(tf.zeros([1, 2, 3]), tf.ones([1, 1, 3], tf.bool))
        with pytest.raises(ValueError, match=r"tree: expected one of \['projective', 'spanning'\]\. Received: 'oak'"):
            self.kind(tree="oak")


class TestSpanningHeads(TestProjectiveHeads):
    projective = False

    @classmethod
    def make(cls, **options):
        return cls.kind(tree="spanning", **options)


def test_every_alignment_is_listed():
    listed = {
        kind.kind
        for kind in globals().values()
        if isinstance(kind, type) and issubclass(kind, AlignmentTests)
        if kind is not AlignmentTests
    }
    assert listed == set(attention.Alignment.registry.values())


@pytest.mark.parametrize("name", sorted(set(attention.Alignment.registry) - {"heads"}))
def test_a_forbidden_place_has_no_weight(name):
    align = attention.Alignment.get(name)
    logits, mask = tf.constant([[[0.5, -np.inf, 0.1]]], tf.float32), tf.ones([1, 3], tf.bool)
    with tf.GradientTape() as tape:
        tape.watch(logits)
        weights, _ = align(logits, mask[:, None], align.initial_state(mask, tf.float32))
        loss = tf.reduce_sum(weights**2)
    assert float(weights[0, 0, 1]) == 0
    assert np.isfinite(weights).all()
    assert np.isfinite(tape.gradient(loss, logits)).all()


@pytest.mark.parametrize("name", sorted(Alignment.registry))
@pytest.mark.parametrize("training", [False, True])
def test_an_infinite_logit_has_all_the_weight_and_nothing_is_nan(name, training):
    """Overflow in half precision results in `inf`; only here is the largest logit of a row not finite."""
    align = Alignment.get(name, **({"noise": 0.0} if name == "monotonic" else {}))
    align.build()
    rows, mask = 3 if name == "heads" else 1, tf.ones([2, 3], tf.bool)
    numbers = np.zeros([2, rows, 3], "float32")
    numbers[0, 0, 1] = np.inf
    numbers[1, 0, 1:] = np.inf
    logits = tf.constant(numbers)
    with tf.GradientTape() as tape:
        tape.watch(logits)
        weights, _ = align.call(logits, mask[:, None], align.initial_state(mask, tf.float32), training=training)
        loss = tf.reduce_sum(weights**2)
    assert np.isfinite(tape.gradient(loss, logits)).all()
    one, two = weights.numpy()[:, 0]
    stopped = one[:2].sum() if name == "monotonic" else one[1]
    np.testing.assert_allclose(stopped, 1, atol=1e-6)
    assert np.isfinite(two).all()
    assert two[1:].sum() > 0.6


@pytest.mark.parametrize("name", sorted(set(Alignment.registry) - {"heads"}))
def test_what_stands_where_nothing_is_kept_has_no_gradient(name):
    align = Alignment.get(name)
    align.build()
    mask = tf.constant([[True, False, True], [True, True, True]])
    logits = tf.constant([[[0.5, float("nan"), -0.5]], [[-float("inf")] * 3]])
    with tf.GradientTape() as tape:
        tape.watch(logits)
        weights, state = align.call(logits, mask[:, None], align.initial_state(mask, tf.float32), training=True)
        loss = tf.reduce_sum(weights**2) + tf.add_n([tf.reduce_sum(s) for s in tf.nest.flatten(state)] or [0.0])
    gradients = tape.gradient(loss, [logits, *(v.value for v in align.trainable_variables)])
    gradients[0] = gradients[0][0]  # of a row with at least one possible tree
    assert np.isfinite(weights).all()
    assert (weights.numpy()[1] == 0).all()
    assert all(np.isfinite(gradient).all() for gradient in gradients)
    assert gradients[0][0, 1] == 0


@pytest.mark.parametrize("tree", ["projective", "spanning"])
def test_the_best_heads_are_numbered_among_all_places(tree):
    """The numbers include masked positions, because a mask may have holes."""
    logits = np.zeros([1, 4, 4], "float32")
    # Positions 1, 2 and 4: the second attends to the last, the first to position 1.
    logits[0, 1, 3] = logits[0, 0, 1] = 5.0
    align = attention.HeadsAlignment(tree)
    align.build()
    heads = align.argmax(tf.constant(logits), tf.constant([[True, True, False, True]]))
    assert heads.numpy().tolist() == [[2, 4, 0, 0]]
