package com.example.shop

import android.app.PendingIntent
import android.content.BroadcastReceiver
import android.content.Context
import android.content.Intent
import androidx.core.app.NotificationCompat
import androidx.core.app.NotificationManagerCompat
import androidx.core.app.RemoteInput

/**
 * Reports actions and dismissals of a notification, which need no activity. In the manifest:
 *
 *     <receiver android:name=".PushActions" android:exported="false" />
 *
 * A tap opens the activity, which calls PushReports.opened: Android 12 and newer forbid receivers to start one.
 */
class PushActions : BroadcastReceiver() {
    override fun onReceive(context: Context, intent: Intent) {
        val handle = intent.getStringExtra(PushReports.HANDLE)
        if (intent.action == DISMISS) {
            PushReports.add(context, handle, "dismissed")
            return
        }
        val text = RemoteInput.getResultsFromIntent(intent)?.getCharSequence(TEXT)?.toString()
        PushReports.add(context, handle, "action", intent.getStringExtra(ACTION), text)
        // A reply shows its progress until the notification is updated or cancelled.
        NotificationManagerCompat.from(context).cancel(intent.getStringExtra(TAG), 0)
    }

    companion object {
        private const val DISMISS = "com.example.shop.DISMISS"
        private const val ACT = "com.example.shop.ACT"
        private const val REPLY = "com.example.shop.REPLY"
        private const val ACTION = "action"
        private const val TAG = "tag"
        private const val TEXT = "text"

        /** Gives a notification its tap, its dismissal, and the actions "done" and "reply". */
        fun attach(context: Context, builder: NotificationCompat.Builder, handle: String?, tag: String?) {
            val code = "$handle $tag".hashCode()
            val launch = context.packageManager.getLaunchIntentForPackage(context.packageName)
                ?.putExtra(PushReports.HANDLE, handle)
                // Otherwise an app that runs comes to the front without this intent.
                ?.addFlags(Intent.FLAG_ACTIVITY_CLEAR_TOP or Intent.FLAG_ACTIVITY_SINGLE_TOP)
            if (launch != null) {
                builder.setContentIntent(
                    PendingIntent.getActivity(context, code, launch, PendingIntent.FLAG_UPDATE_CURRENT or PendingIntent.FLAG_IMMUTABLE)
                )
            }
            builder.setDeleteIntent(pending(context, DISMISS, code, handle, tag, null, PendingIntent.FLAG_IMMUTABLE))
            val done = pending(context, ACT, code, handle, tag, "done", PendingIntent.FLAG_IMMUTABLE)
            builder.addAction(NotificationCompat.Action.Builder(0, "Done", done).build())
            // Android adds the text to the intent, so this one must be mutable.
            val reply = pending(context, REPLY, code, handle, tag, "reply", PendingIntent.FLAG_MUTABLE)
            val input = RemoteInput.Builder(TEXT).setLabel("Reply").build()
            builder.addAction(NotificationCompat.Action.Builder(0, "Reply", reply).addRemoteInput(input).build())
        }

        private fun pending(
            context: Context,
            name: String,
            code: Int,
            handle: String?,
            tag: String?,
            action: String?,
            flag: Int,
        ): PendingIntent {
            val intent = Intent(context, PushActions::class.java)
                .setAction(name)
                .putExtra(PushReports.HANDLE, handle)
                .putExtra(TAG, tag)
                .putExtra(ACTION, action)
            return PendingIntent.getBroadcast(context, code, intent, PendingIntent.FLAG_UPDATE_CURRENT or flag)
        }
    }
}
